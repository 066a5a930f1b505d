// See bennett.h.
#include "engine/tempering/bennett.h"

#include <cmath>

namespace isinglass {
namespace {

constexpr double kTolerance = 1e-10;

// The difference of both sides at c, which falls with c, and its derivative; of all ensembles but
// one (−1: of all). Rows of the numbers are ensembles.
struct Sides {
  const double* lower;
  const double* upper;
  int64_t ensembles, draws;

  std::pair<double, double> at(double c, int64_t without) const {
    double difference = 0, derivative = 0;
    for (int64_t e = 0; e < ensembles; ++e) {
      if (e == without) continue;
      for (int64_t k = e * draws; k < (e + 1) * draws; ++k) {
        const double f = 1 / (1 + std::exp(lower[k] + c)), b = 1 / (1 + std::exp(-upper[k] - c));
        difference += f - b;
        derivative -= f * (1 - f) + b * (1 - b);
      }
    }
    return {difference, derivative};
  }

  // Newton's steps, kept inside of a bracket that is halved where they leave it.
  double root(double c, int64_t without) const {
    double low = c - 1, high = c + 1;
    for (double width = 1; at(low, without).first < 0 && width < 1e300; width *= 2) low -= width;
    for (double width = 1; at(high, without).first > 0 && width < 1e300; width *= 2) high += width;
    for (int n = 0; n < 200 && high - low > kTolerance; ++n) {
      const auto [difference, derivative] = at(c, without);
      (difference > 0 ? low : high) = c;
      double next = c - difference / derivative;
      if (!(next > low && next < high)) next = low + (high - low) / 2;
      if (std::abs(next - c) < kTolerance) return next;
      c = next;
    }
    return c;
  }
};

double middle_of(const torch::Tensor& lower, const torch::Tensor& upper) {
  return -(lower.mean() + upper.mean()).item<double>() / 2;
}

}  // namespace

double bennett_log_ratio(const torch::Tensor& lower, const torch::Tensor& upper) {
  TORCH_CHECK(lower.numel() == upper.numel() && lower.numel() > 0,
              "as many draws on one rung as on the other");
  const torch::Tensor a = lower.to(torch::kFloat64).contiguous(),
                      b = upper.to(torch::kFloat64).contiguous();
  const Sides sides{a.const_data_ptr<double>(), b.const_data_ptr<double>(), 1, a.numel()};
  return sides.root(middle_of(a, b), -1);
}

LogZ log_z_of_rungs(const torch::Tensor& v, const std::vector<double>& betas, double log_z_0) {
  const int64_t draws = v.size(0), ensembles = v.size(1);
  if (draws == 0 || !torch::isfinite(v).all().item<bool>()) return {NAN, NAN};
  const torch::Tensor of_rungs = v.permute({2, 1, 0}).contiguous();  // [R, C, S]
  std::vector<double> without(ensembles, log_z_0);
  double value = log_z_0;
  for (size_t i = 0; i + 1 < betas.size(); ++i) {
    const double step = betas[i + 1] - betas[i];
    const torch::Tensor lower = (step * of_rungs[static_cast<int64_t>(i)]).contiguous();
    const torch::Tensor upper = (step * of_rungs[static_cast<int64_t>(i) + 1]).contiguous();
    const Sides sides{lower.const_data_ptr<double>(), upper.const_data_ptr<double>(), ensembles,
                      draws};
    const double c = sides.root(middle_of(lower, upper), -1);
    value += c;
    for (int64_t e = 0; ensembles >= kLeastEnsembles && e < ensembles; ++e) {
      without[e] += sides.root(c, e);
    }
  }
  if (ensembles < kLeastEnsembles) return {value, NAN};
  double mean = 0, squares = 0;
  const double n = static_cast<double>(ensembles);
  for (const double w : without) mean += w / n;
  for (const double w : without) squares += (w - mean) * (w - mean);
  return {value, std::sqrt((n - 1) / n * squares)};
}

}  // namespace isinglass
