// Implements the estimate of log Z from draws on rungs.
#include "engine/tempering/bennett.h"

#include <algorithm>
#include <cmath>

#include "engine/annealing/acceptance_ratio.h"

namespace isinglass {
namespace {

// The largest number of groups. More groups hardly improve the standard error, and the cost grows
// with their square.
constexpr int64_t kMostGroups = 100;

// The ensembles from `first` up to but excluding `last`.
struct Group {
  int64_t first = 0, last = 0;
};

// Divides the ensembles into groups of equal size; the last group also takes the remainder.
std::vector<Group> groups_of(int64_t ensembles) {
  const int64_t size = (ensembles + kMostGroups - 1) / kMostGroups;
  std::vector<Group> groups;
  for (int64_t first = 0; first + size <= ensembles; first += size) {
    groups.push_back({first, first + size});
  }
  groups.back().last = ensembles;
  return groups;
}

// Returns sign·delta_u of all ensembles except those of a group; delta_u [C, S].
std::vector<double> weights(const torch::Tensor& delta_u, double sign, const Group& without) {
  const double* values = delta_u.const_data_ptr<double>();
  const int64_t draws = delta_u.size(1);
  std::vector<double> result;
  result.reserve(delta_u.numel());
  for (int64_t e = 0; e < delta_u.size(0); ++e) {
    if (e >= without.first && e < without.last) continue;
    for (int64_t k = e * draws; k < (e + 1) * draws; ++k) result.push_back(sign * values[k]);
  }
  return result;
}

// Returns false if the other rung of a pair forbids all draws, which then say nothing about the
// ratio of the two normalisers.
bool any_finite(const std::vector<double>& weights) {
  return std::any_of(weights.begin(), weights.end(), [](double w) { return std::isfinite(w); });
}

// Returns log Σ exp over all draws of each group; log_weights [C, S].
torch::Tensor log_sums(const torch::Tensor& log_weights, const std::vector<Group>& groups) {
  torch::Tensor sums = torch::empty({static_cast<int64_t>(groups.size())}, torch::kFloat64);
  for (size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    const torch::Tensor own = log_weights.narrow(0, group.first, group.last - group.first);
    sums[static_cast<int64_t>(g)] = torch::logsumexp(own.flatten(), 0);
  }
  return sums;
}

// Returns log Σ exp of the logarithms without number g.
double log_sum_without(const torch::Tensor& logs, int64_t g) {
  const torch::Tensor others =
      torch::cat({logs.narrow(0, 0, g), logs.narrow(0, g + 1, logs.size(0) - g - 1)});
  return torch::logsumexp(others, 0).item<double>();
}

// Returns the jackknife's standard error from the estimates without one group each; NaN without
// groups.
double jackknife_error(const std::vector<double>& without) {
  if (without.empty()) return NAN;
  double mean = 0, squares = 0;
  const double n = static_cast<double>(without.size());
  for (const double w : without) mean += w / n;
  for (const double w : without) squares += (w - mean) * (w - mean);
  return std::sqrt((n - 1) / n * squares);
}

// Returns true if the differences are valid. A draw that the other rung of its pair forbids has
// weight 0. A rung never forbids its own draw, so that any other value that is not finite comes
// from an energy that is not finite.
bool usable(const torch::Tensor& delta_u) {
  const torch::Tensor lower = delta_u.select(-1, 0), upper = delta_u.select(-1, 1);
  return ((lower > -INFINITY) & (upper < INFINITY)).all().item<bool>();
}

}  // namespace

LogZ log_z_of_rungs(const torch::Tensor& delta_u, double log_z_0) {
  const int64_t draws = delta_u.size(0), ensembles = delta_u.size(1);
  if (draws == 0 || !usable(delta_u)) return {NAN, NAN};
  const torch::Tensor of_pairs = delta_u.permute({2, 3, 1, 0}).contiguous();  // [R − 1, 2, C, S]
  std::vector<Group> groups;
  if (ensembles >= kLeastEnsembles) groups = groups_of(ensembles);
  std::vector<double> without(groups.size(), log_z_0), without_low = without, without_up = without;
  LogZ result{log_z_0, NAN, log_z_0, log_z_0};
  const double log_draws = std::log(static_cast<double>(draws * ensembles));
  for (int64_t i = 0; i < of_pairs.size(0); ++i) {
    const torch::Tensor lower = of_pairs[i][0], upper = of_pairs[i][1];
    const auto log_ratio = [&](const Group& without) {
      const std::vector<double> up = weights(lower, -1, without);
      const std::vector<double> down = weights(upper, 1, without);
      return any_finite(up) && any_finite(down) ? acceptance_ratio_root(up, down) : NAN;
    };
    result.value += log_ratio({});
    result.lower += torch::logsumexp(-lower.flatten(), 0).item<double>() - log_draws;
    result.upper -= torch::logsumexp(upper.flatten(), 0).item<double>() - log_draws;
    const torch::Tensor low = log_sums(-lower, groups), up = log_sums(upper, groups);
    for (size_t g = 0; g < groups.size(); ++g) {
      const Group& group = groups[g];
      const double others =
          std::log(static_cast<double>(draws * (ensembles - (group.last - group.first))));
      const auto index = static_cast<int64_t>(g);
      without[g] += log_ratio(group);
      without_low[g] += log_sum_without(low, index) - others;
      without_up[g] -= log_sum_without(up, index) - others;
    }
  }
  result.standard_error = jackknife_error(without);
  result.lower_se = jackknife_error(without_low);
  result.upper_se = jackknife_error(without_up);
  return result;
}

}  // namespace isinglass
