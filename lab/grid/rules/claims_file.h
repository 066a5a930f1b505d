// Claims as a grid's file states them (lab/grid/claims.h): read, and compared with what the grid
// measures before anything runs.
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

// The [[claims]] of a grid, named in messages. Throws Error for rules and metrics that are unknown.
std::vector<Claim> read_claims(const toml::table& grid, const std::string& name);

// Throws Error for a claim about models, samplers or settings that are not among `settings`, with
// those that are; for an axis that is no sweep of numbers; and for a metric that is not measured.
void check_claims(const std::vector<Claim>& claims, const std::vector<Setting>& settings,
                  const std::string& name,
                  const std::function<bool(const std::string& metric)>& measured);

// The claims of a finished grid as its file states them now, which may have been edited since it
// ran; none if the directory's grid is no file, or the file is gone. Throws Error for claims that
// its rows cannot answer.
std::optional<std::vector<Claim>> edited_claims(const std::filesystem::path& directory,
                                                const nlohmann::ordered_json& results);

}  // namespace isinglass
