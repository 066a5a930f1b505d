// The text that commands print for people at the end of a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace isinglass {

// Returns the text of a sampling run from its summary (lab/run/summary.h).
std::string summary_text(const nlohmann::ordered_json& summary, const std::string& directory);

}  // namespace isinglass
