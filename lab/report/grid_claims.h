// Adds the claims to a grid's page: the rule in words, and the verdicts with their numbers.
#pragma once

#include "lab/page/page.h"

namespace isinglass::report {

// Judges the claims of results.json again and adds them to the page. Adds nothing if there are
// none.
void add_claims(Page& page, const Json& results);

}  // namespace isinglass::report
