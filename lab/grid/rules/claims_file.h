// Reads claims from a grid's file (lab/grid/claims.h) and compares them with what the grid measures
// before anything runs.
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/grid/claims.h"
#include "lab/grid/rows.h"

namespace isinglass {

// Reads the [[claims]] of a grid, whose name begins messages. Throws Error for unknown rules and
// metrics.
std::vector<Claim> read_claims(const toml::table& grid, const std::string& name);

// Throws Error for a claim about models, samplers or settings that are not among `settings`,
// listing those that are; for an axis that is no sweep of numbers; and for a metric that is not
// measured.
void check_claims(const std::vector<Claim>& claims, const std::vector<Setting>& settings,
                  const std::string& name,
                  const std::function<bool(const std::string& metric)>& measured);

// Returns a sentence on the first claim that this number of repeats cannot decide; empty if there
// is none. Where a side of a claim has several settings for a model, half of the repeats choose the
// best of them, and the others, of which kLeastJudged are needed, judge it.
std::string undecidable(const std::vector<Claim>& claims, const std::vector<Setting>& settings,
                        int64_t repeats);

// Returns the claims of a finished grid as its file states them now, as it may have been edited
// since the run. Returns nothing if the directory's grid is not a file or the file no longer
// exists. Throws Error for claims that the rows cannot answer.
std::optional<std::vector<Claim>> edited_claims(const std::filesystem::path& directory,
                                                const nlohmann::ordered_json& results,
                                                const std::vector<Row>& rows);

}  // namespace isinglass
