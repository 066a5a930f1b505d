// Implements the acceptance ratio.
#include "engine/annealing/acceptance_ratio.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/elementary.h"

namespace isinglass {
namespace {

constexpr double kFarAway = 50;  // beyond it, e^−x is negligible compared with 1
constexpr double kTolerance = 1e-10;
constexpr int kMostSteps = 200;

double log_share(const std::vector<double>& forward, const std::vector<double>& reverse) {
  return std::log(static_cast<double>(forward.size()) / static_cast<double>(reverse.size()));
}

}  // namespace

AcceptedWeights::AcceptedWeights(const std::vector<double>& weights, double shift) {
  for (const double w : weights) {
    const double f = elementary::sigmoid(w - shift);
    sum += f;
    squares += f * f;
    slope += f * (1 - f);
  }
}

BothSides::BothSides(const std::vector<double>& up, const std::vector<double>& down, double c)
    : forward(up, c + log_share(up, down)), reverse(down, -c - log_share(up, down)) {}

// Finds the root by Newton steps, since the difference of both sides decreases with c. The steps
// stay inside a bracket, which is halved if a step would leave it.
double acceptance_ratio_root(const std::vector<double>& forward,
                             const std::vector<double>& reverse) {
  double low = INFINITY, high = -INFINITY;
  const auto reach = [&](double c) {
    if (!std::isfinite(c)) return;
    low = std::min(low, c);
    high = std::max(high, c);
  };
  for (const double w : forward) reach(w);
  for (const double w : reverse) reach(-w);
  double c = low + (high - low) / 2;
  const double margin = kFarAway + std::abs(log_share(forward, reverse));
  low -= margin;
  high += margin;
  for (int n = 0; n < kMostSteps && high - low > kTolerance; ++n) {
    const BothSides sides(forward, reverse, c);
    const double difference = sides.forward.sum - sides.reverse.sum;
    if (difference == 0) return c;
    (difference > 0 ? low : high) = c;
    double next = c + difference / (sides.forward.slope + sides.reverse.slope);
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    const bool found = std::abs(next - c) < kTolerance;
    c = next;
    if (found) break;
  }
  return c;
}

}  // namespace isinglass
