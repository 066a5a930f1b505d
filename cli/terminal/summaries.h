// What the commands print for people at the end of a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace isinglass {

// Of a run of sampling, by its summary (lab/run/summary.h).
std::string summary_text(const nlohmann::ordered_json& summary, const std::string& directory);

}  // namespace isinglass
