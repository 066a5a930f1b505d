// See metrics_file.h.
#include "train/metrics_file.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "io/files.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

// Of forward annealing alone: open by definition.
void add_verdict(Json& line) {
  if (line.contains("validation_score")) line["validation_verdict"] = kValidationVerdict;
}

Json object_of(const Metrics& metrics) {
  Json line = {{"iteration", metrics.iteration}};
  for (const auto& [name, value] : metrics.values) line[name] = value;
  add_verdict(line);
  return line;
}

}  // namespace

std::string json_line(const Metrics& metrics) {
  return object_of(metrics).dump();
}

void MetricsFile::on_start(int64_t iteration) {
  seconds_ = 0;
  scored_ = false;
  if (!std::filesystem::exists(file_)) return;
  const std::string text = read_file(file_);
  size_t kept = 0;
  for (size_t end; (end = text.find('\n', kept)) != std::string::npos; kept = end + 1) {
    const auto line = std::string_view(text).substr(kept, end - kept);
    const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object() || object.value("iteration", iteration + 1) > iteration) break;
    seconds_ = object.value("seconds", seconds_);
    scored_ = object.contains("validation_score");
  }
  if (kept < text.size()) write_file(file_, std::string_view(text).substr(0, kept));
}

void MetricsFile::on_iteration(const Metrics& metrics) {
  append_line(file_, json_line(metrics));
}

void MetricsFile::on_score(const ValidationScore& score) {
  const std::string text = read_file(file_);
  const size_t before = text.rfind('\n', text.size() - 2);
  const size_t start = before == std::string::npos ? 0 : before + 1;
  Json line = Json::parse(std::string_view(text).substr(start));
  Metrics scored;
  add_score(scored, score);
  for (const auto& [name, value] : scored.values) line[name] = value;
  add_verdict(line);
  write_file(file_, text.substr(0, start) + line.dump() + "\n");
}

}  // namespace isinglass
