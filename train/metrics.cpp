// See metrics.h.
#include "train/metrics.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "io/files.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kScore = "validation_score";

void add(Json& line, const ValidationScore& score) {
  line[kScore] = score.value;
  line["validation_weight_ess"] = score.weight_ess;
}

}  // namespace

std::string json_line(const TrainMetrics& m) {
  Json line = {{"iteration", m.iteration}};
  if (m.loss) {
    line["loss"] = *m.loss;
  } else {
    line.update({{"energy_data", m.energy_data},
                 {"energy_model", m.energy_model},
                 {"difference", m.difference},
                 {"acceptance", m.acceptance},
                 {"hops", m.hops}});
  }
  line.update({{"gradient_norm", m.gradient_norm},
               {"learning_rate", m.learning_rate},
               {"iterations_per_second", m.iterations_per_second},
               {"seconds", m.seconds}});
  if (m.recoveries > 0) line["recoveries"] = m.recoveries;
  if (m.validation) add(line, *m.validation);
  return line.dump();
}

LastLine cut_metrics(const std::filesystem::path& file, int64_t iteration) {
  LastLine last;
  if (!std::filesystem::exists(file)) return last;
  const std::string text = read_file(file);
  size_t kept = 0;
  for (size_t end; (end = text.find('\n', kept)) != std::string::npos; kept = end + 1) {
    const auto line = std::string_view(text).substr(kept, end - kept);
    const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object() || object.value("iteration", iteration + 1) > iteration) break;
    last = {object.value("seconds", last.seconds), object.contains(kScore)};
  }
  if (kept < text.size()) write_file(file, std::string_view(text).substr(0, kept));
  return last;
}

void add_score(const std::filesystem::path& file, const ValidationScore& score) {
  const std::string text = read_file(file);
  const size_t before = text.rfind('\n', text.size() - 2);
  const size_t start = before == std::string::npos ? 0 : before + 1;
  Json line = Json::parse(std::string_view(text).substr(start));
  add(line, score);
  write_file(file, text.substr(0, start) + line.dump() + "\n");
}

}  // namespace isinglass
