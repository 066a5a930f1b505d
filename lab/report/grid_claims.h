// Adds the claims to a grid's page: the rule in words, and the verdicts with their numbers.
#pragma once

#include <vector>

#include "lab/grid/rows.h"
#include "lab/page/page.h"

namespace isinglass::report {

// Judges the claims again and adds them to the page. Adds nothing if there are
// none.
void add_claims(Page& page, const Json& claims, const std::vector<Row>& rows);

}  // namespace isinglass::report
