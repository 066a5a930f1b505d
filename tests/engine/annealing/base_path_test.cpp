// The path from the base of a residual model to the model: log Z by annealing, in both directions,
// and by tempering against enumeration.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/ais.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "engine/tempering/ladder_path.h"
#include "engine/tempering/parallel_tempering.h"
#include "models/combined/residual.h"
#include "models/energies.h"
#include "models/network/mlp.h"
#include "models/network/rbm.h"
#include "tests/engine/invariance.h"

namespace isinglass::base_path_test {
namespace {

constexpr int kSites = 5;

struct Tiny {
  std::shared_ptr<RbmModel> base;
  std::shared_ptr<ResidualModel> model;
  double log_z_base, log_z;
};

double log_z_of(EnergyModel& model) {
  const torch::Tensor x = states_of(reference::StateTable(kSites, 2));
  return torch::logsumexp(-energies(model, x, torch::kCPU), 0).item<double>();
}

// The base has more hidden units than can be enumerated, so that its draws are ends of long chains.
Tiny tiny_residual() {
  torch::manual_seed(6);
  const auto base = std::make_shared<RbmModel>(0.4 * torch::randn({24, kSites}),
                                               0.5 * torch::randn({kSites}), torch::randn({24}));
  const auto network = std::make_shared<MlpModel>(StateSpace{StateKind::kBinary, kSites, 2});
  {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& p : network->parameters()) p.mul_(3);
  }
  const double log_z_base = log_z_of(*base);
  const auto model = std::make_shared<ResidualModel>(
      base, network, ResidualOptions{.bound = 2, .log_z = KnownLogZ{log_z_base, 0}});
  return {base, model, log_z_base, log_z_of(*model)};
}

// The frequencies of states are those of the base, by a χ² with as many degrees of freedom as
// states less one (mean 31, standard deviation √62).
TEST(BasePath, RandomStatesAreDrawsOfTheBase) {
  const Tiny tiny = tiny_residual();
  constexpr int64_t kDraws = 4000;
  const torch::Tensor drawn = random_states(static_cast<const EnergyModel&>(*tiny.model),
                                            torch::arange(kDraws), 5, torch::kCPU);
  const torch::Tensor states = states_of(reference::StateTable(kSites, 2));
  const auto chi_squared = [&](EnergyModel& model, double log_z) {
    const torch::Tensor expected =
        kDraws * torch::exp(-energies(model, states, torch::kCPU) - log_z);
    const torch::Tensor found =
        (drawn.unsqueeze(1) == states.unsqueeze(0)).all(2).sum(0).to(torch::kFloat64);
    return ((found - expected).square() / expected).sum().item<double>();
  };
  const double limit = 31 + 5 * std::sqrt(62);
  EXPECT_LT(chi_squared(*tiny.base, tiny.log_z_base), limit);
  EXPECT_GT(chi_squared(*tiny.model, tiny.log_z), 2 * limit);  // and not those of the model
}

TEST(BasePath, AnnealingFindsLogZ) {
  const Tiny tiny = tiny_residual();
  ASSERT_FALSE(tiny.base->has_exact_samples());
  EXPECT_GT(std::abs(tiny.log_z - tiny.log_z_base), 0.2) << "the network is too flat to test with";
  const Factorised start = Factorised::base(*tiny.base, tiny.log_z_base);
  for (const char* name : {"surrogate", "pafs", "gibbs"}) {
    SCOPED_TRACE(name);
    SamplerOptions options;
    if (find_sampler(name).option("radius")) options.radius = 2;
    const auto sampler = make_sampler(name, options, *tiny.model);
    AisOptions ais{.chains = 400, .temperatures = 60, .seed = 8};
    ais.reverse = ReverseStart{.longest = 2000};
    const AisResult found =
        AnnealedImportanceSampling(*tiny.model, *sampler, start, ais, torch::kCPU).run();
    ASSERT_TRUE(found.finished);
    EXPECT_LT(found.log_z_se, 0.1);
    EXPECT_NEAR(found.log_z, tiny.log_z, 4 * found.log_z_se);
    EXPECT_NEAR(found.reverse->log_z_upper, tiny.log_z, 4 * found.reverse->log_z_upper_se);
    EXPECT_NEAR(found.reverse->log_z_bidirectional, tiny.log_z,
                4 * found.reverse->log_z_bidirectional_se);
  }
}

TEST(BasePath, TemperingFindsLogZ) {
  Tiny tiny = tiny_residual();
  const Factorised start = Factorised::base(*tiny.base, tiny.log_z_base);
  for (const char* name : {"surrogate", "pafs"}) {
    SCOPED_TRACE(name);
    SamplerOptions options;
    if (find_sampler(name).option("radius")) options.radius = 2;
    const auto path = make_ladder_path(PathKind::kLinear, *tiny.model, start, torch::kCPU, 2);
    const ParallelTempering tempering(*tiny.model, make_sampler(name, options, path->model()),
                                      start, {.rungs = 3, .scans = 400});
    const torch::Tensor ids = torch::arange(40);
    ChainState state =
        tempering.init(*tiny.model, random_states(tiny.model->space(), ids, 3, torch::kCPU), ids);
    StepParams params = tempering.params(4, torch::kCPU);
    run(*tiny.model, tempering, state, params, {.burn_in = 100, .steps = 400}, {});
    const TemperingReport report = tempering.report(state, params);
    EXPECT_LT(report.log_z.standard_error, 0.1);
    EXPECT_NEAR(report.log_z.value, tiny.log_z, 4 * report.log_z.standard_error);
  }
}

// Draws of the base are ends of chains that leave it invariant: their frequencies are its law.
TEST(BasePath, DrawsAreOfTheBase) {
  const Tiny tiny = tiny_residual();
  constexpr int64_t kDraws = 4000;
  const Factorised start = Factorised::base(*tiny.base, tiny.log_z_base);
  const torch::Tensor x = start.sample(torch::arange(kDraws), 5);
  EXPECT_TRUE(torch::equal(x, start.sample(torch::arange(kDraws), 5)));
  const reference::StateTable table(kSites, 2);
  const torch::Tensor p =
      torch::exp(-energies(*tiny.base, states_of(table), torch::kCPU) - tiny.log_z_base);
  torch::Tensor number = torch::zeros({kDraws}, torch::kInt64);
  for (int64_t i = kSites; i-- > 0;) number = 2 * number + x.select(1, i).to(torch::kInt64);
  const torch::Tensor share = torch::bincount(number, {}, p.size(0)).to(torch::kFloat64) / kDraws;
  const torch::Tensor error = torch::sqrt(p * (1 - p) / static_cast<double>(kDraws));
  EXPECT_LT(((share - p).abs() / error).max().item<double>(), 5);
}

}  // namespace
}  // namespace isinglass::base_path_test
