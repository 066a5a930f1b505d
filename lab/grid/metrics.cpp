// See metrics.h.
#include "lab/grid/metrics.h"

#include <fmt/ranges.h>

#include "io/error.h"
#include "models/registry.h"

namespace isinglass {

const std::vector<Metric>& grid_metrics() {
  static const std::vector<Metric> all = {
      {"ess_per_step", "ESS / step", true, true, true},
      {"ess_per_evaluation", "ESS / model call", true, true, true},
      {"ess_per_second", "ESS / s, a chain", true, true, true},
      {"bulk_ess", "bulk ESS, all chains", true, false, true},
      {"tail_ess", "tail ESS, all chains", true, false, true},
      {"rhat", "R-hat", false, false, false, false},
      {"acceptance", "acceptance", true, true, true},
      {"hops", "hops / step", true, true, true},
      {"burn_in_time", "burn-in, steps", false, false, true},
      {"final_energy", "mean energy, last quarter", false, true, false, false},
      {"least_energy", "least energy, last states", false, true, false, false},
      {"right_share", "share at right modes, last quarter", true, true},
      {"calls_to_right", "model calls until 80 % are at right modes (all where never)", false,
       true},
      {"mean_error", "error of the mean", false, true},
      {"mmd", "MMD² to ground truth", false, true, false, false},
      {"mmd_v", "MMD², V-statistic", false, false, false, false},
      {"mmd_floor", "MMD² of ground truth to ground truth", false, true, false, false},
      {"mmd_v_floor", "V-statistic of ground truth to ground truth", false, false, false, false},
      {"reference_rhat", "R-hat of the ground truth", false, false, false, false},
      {"energy_evaluations", "model calls, a chain", false, false},
      {"seconds", "seconds", false, false},
  };
  return all;
}

const Metric& find_metric(const std::string& key, const std::string& where) {
  std::vector<std::string> keys;
  for (const Metric& metric : grid_metrics()) {
    if (metric.key == key) return metric;
    keys.push_back(metric.key);
  }
  fail("{}: unknown metric '{}'; known: {}", where, key, fmt::join(nearest_first(key, keys), ", "));
}

}  // namespace isinglass
