// Tests when chains at one temperature count as equilibrated.
#include "engine/annealing/convergence_monitor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/diagnostics/ties.h"

namespace isinglass::convergence_monitor_test {
namespace {

// Returns R̂ after the first check, for energies that stay constant.
double rhat_of(const torch::Tensor& energy) {
  ConvergenceMonitor watch(energy.size(0), torch::kCPU);
  for (int64_t step = 1; !watch.check(1, energy, kCarriedRounding, Ranks::single_process());
       ++step) {
    if (step > 10000) return -1;
  }
  return watch.rhat();
}

// If all relevant states have one energy, chains in them agree; chains frozen at different energies
// do not.
TEST(ConvergenceMonitor, OneEnergyEverywhereIsAgreement) {
  EXPECT_EQ(rhat_of(torch::full({6}, -2.5, torch::kFloat64)), 1);
  EXPECT_TRUE(std::isinf(rhat_of(torch::arange(6, torch::kFloat64))));
  EXPECT_TRUE(std::isnan(rhat_of(torch::full({1}, -2.5, torch::kFloat64))));
}

}  // namespace
}  // namespace isinglass::convergence_monitor_test
