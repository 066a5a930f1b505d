// Defines the metrics of training cells. lab/grid/cells/learning_cell.cpp measures them.
#include "lab/grid/metrics.h"

namespace isinglass {

std::vector<Metric> learning_metrics() {
  return {
      {"coupling_rmse", "RMSE of the couplings, last tenth", false, false},
      // Log-likelihoods are defined for closed brackets only, and half of the bracket bounds their
      // bias. The two ends of the bracket follow as metrics of their own.
      {"validation_nats", "log-likelihood of validation images, nats", true, true, false, false,
       nullptr, true, false, true},
      {"test_nats", "log-likelihood of test images, nats", true, true, false, false, nullptr, true,
       false, true},
      {"validation_bits", "validation images, bits per dimension", false, true, false, true,
       nullptr, true, false, true},
      {"test_bits", "test images, bits per dimension", false, true, false, true, nullptr, true,
       false, true},
      {"test_above", "test images from above, nats", true, false, false, false},
      {"test_below", "test images from below, nats", true, false, false, false},
      {"bracket", "bracket of log Z, nats", false, false},
      {"divergences", "divergences", false, false, false, true, nullptr, false, true},
      {"iterations_per_second", "training iterations per second", true, false},
  };
}

}  // namespace isinglass
