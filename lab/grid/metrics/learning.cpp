// Metrics of cells that learn; lab/grid/cells/learning_cell.cpp measures them.
#include "lab/grid/metrics.h"

namespace isinglass {

std::vector<Metric> learning_metrics() {
  return {
      {"coupling_rmse", "RMSE of the couplings, last tenth", false, false},
      {"divergences", "divergences", false, false},
      {"iterations_per_second", "training iterations per second", true, false},
  };
}

}  // namespace isinglass
