// Implements the schedule of parallel tempering.
#include "engine/tempering/schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace isinglass {

double barrier(const std::vector<double>& rejection) {
  return std::accumulate(rejection.begin(), rejection.end(), 0.0);
}

double predicted_round_trip_rate(const std::vector<double>& rejection) {
  double sum = 0;
  for (const double r : rejection) sum += r / (1 - r);
  return 1 / (2 + 2 * sum);
}

double best_round_trip_rate(double barrier) {
  return 1 / (2 + 2 * barrier);
}

int64_t rungs_for(double barrier) {
  return std::max<int64_t>(2, static_cast<int64_t>(std::ceil(2 * barrier)) + 1);
}

std::vector<double> equidistant_schedule(int64_t rungs, double lowest) {
  std::vector<double> betas(rungs);
  for (int64_t i = 0; i < rungs; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(rungs - 1);
    betas[i] = lowest + (1 - lowest) * share;
  }
  return betas;
}

// Computes the slope at each point: the harmonic mean of the two adjacent secants, weighted by
// their lengths (Fritsch & Butland 1984). It lies within Fritsch and Carlson's region of
// monotonicity.
MonotoneCubic::MonotoneCubic(std::vector<double> x, std::vector<double> y)
    : x_(std::move(x)), y_(std::move(y)), slope_(x_.size(), 0.0) {
  const size_t n = x_.size();
  std::vector<double> h(n - 1), secant(n - 1);
  for (size_t i = 0; i + 1 < n; ++i) {
    h[i] = x_[i + 1] - x_[i];
    secant[i] = (y_[i + 1] - y_[i]) / h[i];
  }
  slope_.front() = secant.front();
  slope_.back() = secant.back();
  for (size_t i = 1; i + 1 < n; ++i) {
    if (secant[i - 1] <= 0 || secant[i] <= 0) continue;  // flat on one side
    const double before = 2 * h[i] + h[i - 1], after = h[i] + 2 * h[i - 1];
    slope_[i] = (before + after) / (before / secant[i - 1] + after / secant[i]);
  }
}

double MonotoneCubic::operator()(double x) const {
  if (x <= x_.front()) return y_.front();
  if (x >= x_.back()) return y_.back();
  const size_t i = std::upper_bound(x_.begin(), x_.end(), x) - x_.begin() - 1;
  const double h = x_[i + 1] - x_[i], t = (x - x_[i]) / h;
  const double rest = 1 - t;
  return y_[i] * (1 + 2 * t) * rest * rest + h * slope_[i] * t * rest * rest +
         y_[i + 1] * t * t * (3 - 2 * t) - h * slope_[i + 1] * t * t * rest;
}

double MonotoneCubic::inverse(double y) const {
  double low = x_.front(), high = x_.back();
  for (int n = 0; n < 100; ++n) {
    const double middle = low + (high - low) / 2;
    ((*this)(middle) < y ? low : high) = middle;
  }
  return high;
}

std::vector<double> equal_barrier_schedule(const std::vector<double>& betas,
                                           const std::vector<double>& rejection, int64_t rungs) {
  const double mean = barrier(rejection) / static_cast<double>(rejection.size());
  if (!(mean > 0)) return equidistant_schedule(rungs, betas.front());
  std::vector<double> sum(1, 0.0);
  for (const double r : rejection) sum.push_back(sum.back() + std::max(r, 1e-3 * mean));
  const MonotoneCubic cumulative(betas, sum);
  std::vector<double> result(rungs);
  for (int64_t i = 0; i < rungs; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(rungs - 1);
    result[i] = cumulative.inverse(share * sum.back());
  }
  result.front() = betas.front();
  result.back() = 1;
  return result;
}

}  // namespace isinglass
