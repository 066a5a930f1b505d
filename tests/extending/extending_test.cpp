// The target and the sampler of docs/howto/extending.md, found by name, against enumeration.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"
#include "io/pt/pt_file.h"
#include "models/registry.h"
#include "tests/engine/invariance.h"
#include "tests/support/scratch.h"

namespace isinglass {
namespace {

constexpr int kSites = 3, kValues = 4;
const reference::StateTable kTable(kSites, kValues);
const double kCoupling[kSites] = {0.8, -0.5, 1.1};

std::shared_ptr<EnergyModel> clock() {
  const Scratch scratch;
  write_named_tensors(scratch / "clock.pt", {{"coupling", torch::tensor({0.8, -0.5, 1.1})}});
  return load_model("clock", {.weights = scratch / "clock.pt", .categories = kValues});
}

double energy_of(const reference::State& x) {
  double u = 0;
  for (int i = 0; i < kSites; ++i) {
    u -= kCoupling[i] * std::cos(2 * M_PI * (x[i] - x[(i + 1) % kSites]) / kValues);
  }
  return u;
}

// The file holds float32: couplings are off by 3e-8 of their size.
TEST(Clock, EnergiesAndDifferencesOfAllStates) {
  const auto model = clock();
  const torch::Tensor x = states_of(kTable);
  Evaluation at;
  evaluate_differences(*model, x, at);
  for (size_t s = 0; s < kTable.states.size(); ++s) {
    const auto row = static_cast<int64_t>(s);
    const double here = energy_of(kTable.states[s]);
    EXPECT_NEAR(at.energy[row].item<double>(), here, 1e-6);
    for (int i = 0; i < kSites; ++i) {
      for (int k = 0; k < kValues; ++k) {
        reference::State y = kTable.states[s];
        y[i] = k;
        EXPECT_NEAR(at.differences[row][i][k].item<double>(), here - energy_of(y), 1e-6);
      }
    }
  }
}

TEST(FlatLangevin, AStepLeavesTheTargetInvariant) {
  const auto model = clock();
  const std::vector<double> law = law_of(kTable, energy_of);
  for (const double alpha : {0.3, 1.0}) {
    SCOPED_TRACE(alpha);
    const auto sampler = make_sampler("flat-dlp", {.step_size = 1.0, .alpha = alpha}, *model);
    expect_invariant(*sampler, *model, kTable, law);
  }
}

}  // namespace
}  // namespace isinglass
