// See bennett.h.
#include "engine/tempering/bennett.h"

#include <cmath>

#include "engine/annealing/acceptance_ratio.h"

namespace isinglass {
namespace {

// sign·rises of all ensembles but one (none: −1); rises [C, S].
std::vector<double> weights(const torch::Tensor& rises, double sign, int64_t without) {
  const double* values = rises.const_data_ptr<double>();
  const int64_t draws = rises.size(1);
  std::vector<double> result;
  result.reserve(rises.numel());
  for (int64_t e = 0; e < rises.size(0); ++e) {
    if (e == without) continue;
    for (int64_t k = e * draws; k < (e + 1) * draws; ++k) result.push_back(sign * values[k]);
  }
  return result;
}

}  // namespace

LogZ log_z_of_rungs(const torch::Tensor& rises, double log_z_0) {
  const int64_t draws = rises.size(0), ensembles = rises.size(1);
  if (draws == 0 || !torch::isfinite(rises).all().item<bool>()) return {NAN, NAN};
  const torch::Tensor of_pairs = rises.permute({2, 3, 1, 0}).contiguous();  // [R − 1, 2, C, S]
  std::vector<double> without(ensembles, log_z_0);
  LogZ result{log_z_0, NAN, log_z_0, log_z_0};
  const double log_draws = std::log(static_cast<double>(draws * ensembles));
  for (int64_t i = 0; i < of_pairs.size(0); ++i) {
    const torch::Tensor lower = of_pairs[i][0], upper = of_pairs[i][1];
    const auto log_ratio = [&](int64_t without) {
      return acceptance_ratio_root(weights(lower, -1, without), weights(upper, 1, without));
    };
    result.value += log_ratio(-1);
    result.lower += torch::logsumexp(-lower.flatten(), 0).item<double>() - log_draws;
    result.upper -= torch::logsumexp(upper.flatten(), 0).item<double>() - log_draws;
    for (int64_t e = 0; ensembles >= kLeastEnsembles && e < ensembles; ++e) {
      without[e] += log_ratio(e);
    }
  }
  if (ensembles < kLeastEnsembles) return result;
  double mean = 0, squares = 0;
  const double n = static_cast<double>(ensembles);
  for (const double w : without) mean += w / n;
  for (const double w : without) squares += (w - mean) * (w - mean);
  result.standard_error = std::sqrt((n - 1) / n * squares);
  return result;
}

}  // namespace isinglass
