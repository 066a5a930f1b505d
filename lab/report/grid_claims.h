// The claims of a grid's page: the rule in words, and the verdicts with their numbers.
#pragma once

#include "lab/report/page.h"

namespace isinglass::report {

// Judges the claims of results.json again; adds nothing where there are none.
void add_claims(Page& page, const Json& results);

}  // namespace isinglass::report
