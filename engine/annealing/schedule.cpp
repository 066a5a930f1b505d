// Implements the temperature schedules of annealing.
#include "engine/annealing/schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/base/elementary.h"

namespace isinglass {
namespace {

constexpr double kSigmoidSlope = 4;
constexpr size_t kWindows = 40;  // windows over which a pilot's noisy variances are averaged

std::vector<double> sigmoid_schedule(int64_t n) {
  std::vector<double> beta(n + 1);
  const double low = elementary::sigmoid(-kSigmoidSlope), high = elementary::sigmoid(kSigmoidSlope);
  for (int64_t k = 0; k <= n; ++k) {
    const double t = kSigmoidSlope * (2 * static_cast<double>(k) / static_cast<double>(n) - 1);
    beta[k] = (elementary::sigmoid(t) - low) / (high - low);
  }
  return beta;
}

// Returns the lengths √D of the pilot's intervals, with D averaged over windows of neighbouring
// intervals.
std::vector<double> lengths(const std::vector<double>& variance) {
  const size_t count = variance.size(), windows = std::min(kWindows, count);
  std::vector<double> length(count);
  for (size_t w = 0; w < windows; ++w) {
    const auto first = static_cast<ptrdiff_t>(count * w / windows);
    const auto end = static_cast<ptrdiff_t>(count * (w + 1) / windows);
    const double mean = std::accumulate(variance.begin() + first, variance.begin() + end, 0.0) /
                        static_cast<double>(end - first);
    std::fill(length.begin() + first, length.begin() + end, std::sqrt(std::max(0.0, mean)));
  }
  return length;
}

// Inverts the cumulative length, which is piecewise linear between the pilot's temperatures.
std::vector<double> equal_length_schedule(int64_t n, const Pilot& pilot) {
  const std::vector<double> length = lengths(pilot.variance);
  const size_t m = length.size();
  const double mean = std::accumulate(length.begin(), length.end(), 0.0) / static_cast<double>(m);
  std::vector<double> cumulative(m + 1, 0.0);
  // A tenth of the mean is added to every length, so that no interval grows without bound where the
  // pilot measured nothing.
  for (size_t j = 0; j < m; ++j)
    cumulative[j + 1] = cumulative[j] + length[j] + 0.1 * mean + 1e-300;
  std::vector<double> beta(n + 1);
  size_t j = 0;
  for (int64_t k = 0; k <= n; ++k) {
    const double target = cumulative[m] * static_cast<double>(k) / static_cast<double>(n);
    while (j + 1 < m && cumulative[j + 1] < target) ++j;
    const double inside = (target - cumulative[j]) / (cumulative[j + 1] - cumulative[j]);
    beta[k] = pilot.beta[j] + inside * (pilot.beta[j + 1] - pilot.beta[j]);
  }
  return beta;
}

}  // namespace

std::vector<int64_t> decades_below(int64_t n) {
  std::vector<int64_t> decades;
  for (int64_t t = 1000; t < n; t *= 10) decades.push_back(t);
  return decades;
}

std::vector<double> annealing_schedule(Schedule schedule, int64_t temperatures,
                                       const Pilot& pilot) {
  std::vector<double> beta(temperatures + 1);
  if (schedule == Schedule::kSigmoid) {
    beta = sigmoid_schedule(temperatures);
  } else if (schedule == Schedule::kAdaptive && !pilot.variance.empty()) {
    beta = equal_length_schedule(temperatures, pilot);
  } else {
    for (int64_t k = 0; k <= temperatures; ++k) {
      beta[k] = static_cast<double>(k) / static_cast<double>(temperatures);
    }
  }
  beta.front() = 0;
  beta.back() = 1;
  return beta;
}

}  // namespace isinglass
