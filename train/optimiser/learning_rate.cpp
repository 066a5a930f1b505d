// Implements the schedules of the learning rate.
#include "train/optimiser/learning_rate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "io/error.h"

namespace isinglass {
namespace {

double descent(RateSchedule schedule, double s) {
  switch (schedule) {
    case RateSchedule::kConstant:
      return 1;
    case RateSchedule::kLinear:
      return 1 - s;
    case RateSchedule::kCosine:
      return (1 + std::cos(std::numbers::pi * s)) / 2;
    case RateSchedule::kInverse:
      return (1 - s) / (1 + 9 * s);
  }
  return 1;
}

}  // namespace

const std::vector<std::string>& rate_schedules() {
  static const std::vector<std::string> names = {"constant", "linear", "cosine", "inverse"};
  return names;
}

RateSchedule rate_schedule(const std::string& name) {
  const auto& names = rate_schedules();
  const auto place = std::find(names.begin(), names.end(), name);
  require(place != names.end(), "unknown schedule '{}' of the learning rate; known: {}", name,
          fmt::join(names, ", "));
  return static_cast<RateSchedule>(place - names.begin());
}

const std::string& name_of(RateSchedule schedule) {
  return rate_schedules()[static_cast<size_t>(schedule)];
}

double LearningRate::at(int64_t iteration) const {
  const int64_t start = std::max(from, warmup);
  if (iteration <= start || schedule == RateSchedule::kConstant) {
    const double warm = warmup > 0 ? static_cast<double>(iteration) / warmup : 1;
    return peak * std::min(1.0, warm);
  }
  const double s = static_cast<double>(iteration - start) / std::max<int64_t>(1, to - start);
  return end + (peak - end) * descent(schedule, std::min(1.0, s));
}

}  // namespace isinglass
