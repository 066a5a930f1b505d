// Implements the file of metrics.
#include "train/metrics_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "io/files.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

// Adds the verdict of a score, which is "open" by definition.
void add_verdict(Json& line) {
  if (!line.contains("validation_score")) return;
  line["validation_verdict"] =
      line.contains("validation_standard_error") ? kWeightsVerdict : kValidationVerdict;
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
  complaint_.clear();
  if (!std::filesystem::exists(file_)) return;
  const std::string text = read_file(file_);
  std::string kept, damaged;
  int64_t lines = 0;
  for (size_t start = 0, end; (end = text.find('\n', start)) != std::string::npos;
       start = end + 1) {
    const auto line = std::string_view(text).substr(start, end - start);
    const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object() || !object.contains("iteration") ||
        !object["iteration"].is_number_integer()) {
      damaged.append(line).push_back('\n');
      ++lines;
      continue;
    }
    if (object["iteration"].get<int64_t>() > iteration) continue;
    kept.append(line).push_back('\n');
    const auto seconds = object.find("seconds");
    if (seconds != object.end() && seconds->is_number()) seconds_ = seconds->get<double>();
    scored_ = object.contains("validation_score");
  }
  if (lines > 0) {
    std::filesystem::path beside = file_;
    beside += ".damaged";
    const bool earlier = std::filesystem::exists(beside);
    write_file(beside, (earlier ? read_file(beside) : "") + damaged);
    complaint_ = fmt::format("{} had {} lines that cannot be read; they were moved to {}",
                             file_.string(), lines, beside.string());
  }
  if (kept.size() < text.size()) write_file(file_, kept);
}

void MetricsFile::on_iteration(const Metrics& metrics) {
  append_line(file_, json_line(metrics));
}

void MetricsFile::on_score(const ValidationScore& score) {
  if (!std::filesystem::exists(file_)) return;  // the file may have been removed meanwhile
  const std::string text = read_file(file_);
  if (text.empty()) return;
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
