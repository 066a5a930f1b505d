// Implements the reading of metrics.jsonl.
#include "lab/run/training_curves.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "io/error.h"
#include "io/files.h"

namespace isinglass {

using Json = nlohmann::ordered_json;

TrainingCurves::TrainingCurves(const std::filesystem::path& file) {
  std::istringstream in(read_file(file));
  for (std::string line; std::getline(in, line);) {
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    // The last line may be cut off.
    if (json.is_object()) lines_.push_back(std::move(json));
  }
  require(!lines_.empty(), "{} holds no iterations", file.string());
}

std::vector<double> TrainingCurves::column(const std::string& key) const {
  std::vector<double> values;
  for (const Json& line : lines_) {
    const auto found = line.find(key);
    values.push_back(found != line.end() && found->is_number() ? found->get<double>() : NAN);
  }
  return values;
}

bool TrainingCurves::has(const std::string& key) const {
  const std::vector<double> values = column(key);
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

double TrainingCurves::late_mean(const std::string& key) const {
  const std::vector<double> values = column(key);
  double sum = 0, count = 0;
  for (size_t i = values.size() - (values.size() + 9) / 10; i < values.size(); ++i) {
    if (std::isfinite(values[i])) sum += values[i], ++count;
  }
  return count > 0 ? sum / count : NAN;
}

}  // namespace isinglass
