// See metrics.h.
#include "train/metrics.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "io/files.h"

namespace isinglass {

std::string json_line(const TrainMetrics& m) {
  nlohmann::ordered_json line = {{"iteration", m.iteration}};
  if (m.score_loss) {
    line["loss"] = *m.score_loss;
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
  if (m.validation_score) line["validation_score"] = *m.validation_score;
  return line.dump();
}

double cut_metrics(const std::filesystem::path& file, int64_t iteration) {
  if (!std::filesystem::exists(file)) return 0;
  const std::string text = read_file(file);
  double seconds = 0;
  size_t kept = 0;
  for (size_t end; (end = text.find('\n', kept)) != std::string::npos; kept = end + 1) {
    const auto line = std::string_view(text).substr(kept, end - kept);
    const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object() || object.value("iteration", iteration + 1) > iteration) break;
    seconds = object.value("seconds", seconds);
  }
  if (kept < text.size()) write_file(file, std::string_view(text).substr(0, kept));
  return seconds;
}

}  // namespace isinglass
