// See weights.h.
#include "engine/annealing/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/random/philox.h"

namespace isinglass {
namespace {

constexpr int kResamples = 1000;
constexpr double kFarAway = 50;  // where e^−x is nothing beside 1
constexpr int kHalvings = 200;

std::vector<double> numbers(const torch::Tensor& values) {
  const torch::Tensor flat = values.to(torch::kCPU, torch::kFloat64).contiguous().view(-1);
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

// log mean exp of values[index(0)], values[index(1)], …
template <class Index>
double log_mean_exp(const std::vector<double>& values, Index index) {
  const auto n = static_cast<int64_t>(values.size());
  double max = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) max = std::max(max, values[index(i)]);
  for (int64_t i = 0; i < n; ++i) sum += std::exp(values[index(i)] - max);
  return max + std::log(sum / static_cast<double>(n));
}

double logistic(double t) {
  return 1 / (1 + std::exp(-t));
}

// logistic(sign·w − shift) of every weight: their sum, that of their squares and of the slopes
// f(1 − f).
struct Accepted {
  double sum = 0, squares = 0, slope = 0;

  Accepted(const std::vector<double>& weights, double shift) {
    for (const double w : weights) {
      const double f = logistic(w - shift);
      sum += f;
      squares += f * f;
      slope += f * (1 - f);
    }
  }
  // Of the sum, its terms independent.
  double variance(size_t n) const {
    const double count = static_cast<double>(n);
    return count * (squares - sum * sum / count) / (count - 1);
  }
};

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
    const Draws draws{seed, static_cast<uint32_t>(r), 0};
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
  const double sides = std::log(static_cast<double>(up.size()) / static_cast<double>(down.size()));
  // Both sums at c; their difference falls as c rises.
  const auto at = [&](double c) {
    return std::pair(Accepted(up, c + sides), Accepted(down, -c - sides));
  };
  double low = INFINITY, high = -INFINITY;
  const auto reach = [&](double w) {
    if (!std::isfinite(w)) return;
    low = std::min(low, w);
    high = std::max(high, w);
  };
  for (const double w : up) reach(w);
  for (const double w : down) reach(-w);
  const double margin = kFarAway + std::abs(sides);
  low -= margin;
  high += margin;
  for (int i = 0; i < kHalvings && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    const auto [f, r] = at(middle);
    (f.sum > r.sum ? low : high) = middle;
  }
  const double c = low + (high - low) / 2;
  const auto [f, r] = at(c);
  const double error =
      std::sqrt(f.variance(up.size()) + r.variance(down.size())) / (f.slope + r.slope);
  return {c, up.size() > 1 && down.size() > 1 ? error : NAN};
}

std::string weights_warning(double weight_ess, int64_t chains) {
  if (weight_ess >= kLeastWeightEss) return "";
  return fmt::format(
      "the effective sample size of the weights is {:.1f} of {} chains, below {}: a few chains "
      "carry "
      "the estimate, log Z may be far too low and likelihoods far too high; anneal with more "
      "temperatures or chains",
      weight_ess, chains, kLeastWeightEss);
}

}  // namespace isinglass
