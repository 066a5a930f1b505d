// Checks invariance: draws from a law are still draws from it after a step of a sampler that leaves
// it invariant.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "engine/sampler.h"
#include "tests/reference/enumeration.h"

namespace isinglass {

// All K^D states, uint8, in the order of the table.
inline torch::Tensor states_of(const reference::StateTable& table) {
  torch::Tensor x = torch::empty({static_cast<int64_t>(table.states.size()), table.sites},
                                 torch::TensorOptions(torch::kUInt8));
  for (int64_t s = 0; s < x.size(0); ++s) {
    for (int i = 0; i < table.sites; ++i) x[s][i] = table.states[s][i];
  }
  return x;
}

// exp(−U) of all states, normalised.
inline std::vector<double> law_of(const reference::StateTable& table,
                                  const std::function<double(const reference::State&)>& energy) {
  reference::Target target{table, {}, {}};
  for (const reference::State& x : table.states) target.energy.push_back(energy(x));
  return target.probabilities();
}

// Expects the frequency of each state after a step to lie within 5 standard errors of its
// probability. `before` receives the chains between init() and the step.
inline void expect_invariant(const Sampler& sampler, EnergyModel& model,
                             const reference::StateTable& table, const std::vector<double>& law,
                             const std::function<void(ChainState&)>& before = {}) {
  constexpr int64_t kChains = 60000;
  torch::manual_seed(7);
  const torch::Tensor drawn =
      torch::multinomial(torch::tensor(law, torch::kFloat64), kChains, /*replacement=*/true);
  const torch::Tensor x = states_of(table).index_select(0, drawn);
  ChainState state = sampler.init(model, x, torch::arange(kChains));
  StepParams params = sampler.params(11, torch::kCPU);
  if (before) before(state);
  sampler.step(model, state, params);
  EXPECT_GT((state.x != x).sum().item<int64_t>(), 0);
  torch::Tensor number = torch::zeros({kChains}, torch::kInt64);
  for (int64_t i = table.sites; i-- > 0;) {
    number = number * table.categories + state.x.select(1, i).to(torch::kInt64);
  }
  const torch::Tensor count = torch::bincount(number, {}, static_cast<int64_t>(law.size()));
  for (size_t s = 0; s < law.size(); ++s) {
    const double error = std::sqrt(law[s] * (1 - law[s]) / kChains);
    EXPECT_NEAR(count[static_cast<int64_t>(s)].item<double>() / kChains, law[s], 5 * error)
        << "state " << s;
  }
}

}  // namespace isinglass
