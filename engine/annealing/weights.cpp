// Implements the estimates from log-weights.
#include "engine/annealing/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/annealing/acceptance_ratio.h"
#include "io/numbers.h"
#include "kernels/random/philox.h"

namespace isinglass {
namespace {

constexpr int kResamples = 1000;

// Returns log mean exp of values[index(0)], values[index(1)], …
template <class Index>
double log_mean_exp(const std::vector<double>& values, Index index) {
  const auto n = static_cast<int64_t>(values.size());
  double max = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) max = std::max(max, values[index(i)]);
  for (int64_t i = 0; i < n; ++i) sum += std::exp(values[index(i)] - max);
  return max + std::log(sum / static_cast<double>(n));
}

// Returns the variance of Σ f over n independent terms.
double variance(const AcceptedWeights& side, size_t n) {
  const double count = static_cast<double>(n);
  return count * (side.squares - side.sum * side.sum / count) / (count - 1);
}

// Returns true if no weight is NaN or +∞ and at least one is finite.
bool usable(const std::vector<double>& weights) {
  const auto above = [](double w) { return std::isnan(w) || w == INFINITY; };
  return std::none_of(weights.begin(), weights.end(), above) &&
         std::any_of(weights.begin(), weights.end(), [](double w) { return std::isfinite(w); });
}

}  // namespace

WeightSummary summarise_weights(const torch::Tensor& log_weights, uint64_t seed) {
  const std::vector<double> values = numbers(log_weights);
  const auto n = static_cast<int64_t>(values.size());
  const double log_mean = log_mean_exp(values, [](int64_t i) { return i; });
  if (!std::isfinite(log_mean)) return {log_mean, NAN, NAN};
  double sum = 0, sum_of_squares = 0;
  std::vector<uint32_t> chosen(n);
  for (int r = 0; r < kResamples; ++r) {
    const PhiloxStream draws{seed, static_cast<uint32_t>(r), 0};
    for (int64_t i = 0; i < n; ++i) {
      chosen[i] =
          draws.below(static_cast<uint32_t>(n), Purpose::kBootstrap, static_cast<uint32_t>(i));
    }
    const double difference = log_mean_exp(values, [&](int64_t i) { return chosen[i]; }) - log_mean;
    sum += difference;
    sum_of_squares += difference * difference;
  }
  const double mean = sum / kResamples;
  const double deviation = std::sqrt(std::max(0.0, sum_of_squares / kResamples - mean * mean));
  const double largest = *std::max_element(values.begin(), values.end());
  double weights = 0, squares = 0;
  for (const double w : values) {
    weights += std::exp(w - largest);
    squares += std::exp(2 * (w - largest));
  }
  return {log_mean, n > 1 ? deviation : NAN, weights * weights / squares};
}

LogRatio acceptance_ratio(const torch::Tensor& forward, const torch::Tensor& reverse) {
  const std::vector<double> up = numbers(forward), down = numbers(reverse);
  if (!usable(up) || !usable(down)) return {NAN, NAN};
  const double c = acceptance_ratio_root(up, down);
  const BothSides at(up, down, c);
  const double error =
      std::sqrt(variance(at.forward, up.size()) + variance(at.reverse, down.size())) /
      (at.forward.slope + at.reverse.slope);
  return {c, up.size() > 1 && down.size() > 1 ? error : NAN};
}

std::string weights_warning(double weight_ess, int64_t chains) {
  if (weight_ess >= kLeastWeightEss) return "";
  return fmt::format(
      "the effective sample size of the weights is {:.1f} of {} chains, below {}: a few chains "
      "dominate the estimate, so that log Z may be far too low and likelihoods far too high; "
      "anneal with more temperatures or chains",
      weight_ess, chains, kLeastWeightEss);
}

}  // namespace isinglass
