// See bennett.h.
#include "engine/tempering/bennett.h"

#include <cmath>

#include "engine/annealing/acceptance_ratio.h"

namespace isinglass {
namespace {

// factor·V of all ensembles but one (none: −1); v [C, S].
std::vector<double> weights(const torch::Tensor& v, double factor, int64_t without) {
  const double* values = v.const_data_ptr<double>();
  const int64_t draws = v.size(1);
  std::vector<double> result;
  result.reserve(v.numel());
  for (int64_t e = 0; e < v.size(0); ++e) {
    if (e == without) continue;
    for (int64_t k = e * draws; k < (e + 1) * draws; ++k) result.push_back(factor * values[k]);
  }
  return result;
}

}  // namespace

LogZ log_z_of_rungs(const torch::Tensor& v, const std::vector<double>& betas, double log_z_0) {
  const int64_t draws = v.size(0), ensembles = v.size(1);
  if (draws == 0 || !torch::isfinite(v).all().item<bool>()) return {NAN, NAN};
  const torch::Tensor of_rungs = v.permute({2, 1, 0}).contiguous();  // [R, C, S]
  std::vector<double> without(ensembles, log_z_0);
  double value = log_z_0;
  for (size_t i = 0; i + 1 < betas.size(); ++i) {
    const double step = betas[i + 1] - betas[i];
    const torch::Tensor lower = of_rungs[static_cast<int64_t>(i)];
    const torch::Tensor upper = of_rungs[static_cast<int64_t>(i) + 1];
    const auto log_ratio = [&](int64_t without) {
      return acceptance_ratio_root(weights(lower, -step, without), weights(upper, step, without));
    };
    value += log_ratio(-1);
    for (int64_t e = 0; ensembles >= kLeastEnsembles && e < ensembles; ++e) {
      without[e] += log_ratio(e);
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
