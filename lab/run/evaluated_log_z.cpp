// Implements the reading of log Z from an evaluation.
#include "lab/run/evaluated_log_z.h"

#include <nlohmann/json.hpp>

#include "io/error.h"
#include "io/files.h"

namespace isinglass {

EvaluatedLogZ evaluated_log_z(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "ais.json";
  require_options(std::filesystem::exists(file),
                  "`base-evaluation` {} holds no finished evaluation, because it has no ais.json",
                  directory.string());
  const auto json = nlohmann::json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  const auto number = [&](const char* key) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    require_options(found != json.end() && found->is_number(),
                    "`base-evaluation` {} has no {}, which evaluations in both directions have",
                    directory.string(), key);
    return found->get<double>();
  };
  EvaluatedLogZ found{.value = number("log_z_bidirectional")};
  if (const auto hash = json.find("parameters_sha256"); hash != json.end() && hash->is_string()) {
    found.parameters_sha256 = hash->get<std::string>();
  }
  if (const auto verdict = json.find("verdict"); verdict != json.end() && *verdict == "closed") {
    found.standard_error = number("log_z_bidirectional_se");
  }
  return found;
}

}  // namespace isinglass
