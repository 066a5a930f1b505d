// Defines the metrics that grids ask for if something is known of the target: its modes, its mean,
// or draws from it. lab/grid/cells/cell.cpp measures them with observers of the run.
#include "lab/grid/metrics.h"

namespace isinglass {

std::vector<Metric> known_answer_metrics() {
  return {
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
  };
}

}  // namespace isinglass
