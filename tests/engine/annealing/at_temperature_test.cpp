// Targets at a fixed temperature against enumeration of exp(−U/T): energies, gradients, laws of the
// samplers, recorded energies and log Z.
#include "engine/annealing/at_temperature.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/ais.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "io/error.h"
#include "models/energies.h"
#include "models/identity.h"
#include "models/lattice/ising.h"
#include "models/network/mlp.h"
#include "models/network/rbm.h"
#include "tests/engine/invariance.h"

namespace isinglass::at_temperature_test {
namespace {

constexpr int kSites = 4;
constexpr double kTemperature = 2.5;

struct Case {
  std::string name;
  std::shared_ptr<EnergyModel> model;
};

std::vector<Case> cases() {
  torch::manual_seed(6);
  const auto network = std::make_shared<MlpModel>(StateSpace{StateKind::kBinary, kSites, 2});
  {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& p : network->parameters()) p.mul_(3);
  }
  const torch::Tensor edges = torch::tensor({0, 1, 1, 2, 2, 3, 3, 0}, torch::kInt64).view({4, 2});
  return {{"mlp", network},
          {"rbm", std::make_shared<RbmModel>(torch::randn({6, kSites}), torch::randn({kSites}),
                                             torch::randn({6}))},
          {"ising", std::make_shared<IsingModel>(edges, torch::randn({4}, torch::kFloat64),
                                                 torch::randn({kSites}, torch::kFloat64))}};
}

torch::Tensor all_states() {
  return states_of(reference::StateTable(kSites, 2));
}

TEST(AtTemperature, DividesEnergiesAndGradients) {
  for (const auto& [name, model] : cases()) {
    SCOPED_TRACE(name);
    AtTemperature tempered(model, kTemperature, torch::kCPU);
    const torch::Tensor x = all_states();
    const EnergyGrad own = model->energy_and_grad(x), found = tempered.energy_and_grad(x);
    EXPECT_TRUE(torch::allclose(found.energy, own.energy / kTemperature, 1e-9, 1e-9));
    EXPECT_TRUE(torch::allclose(found.gradient, own.gradient / kTemperature, 1e-5, 1e-6));
    EXPECT_NE(parameters_sha256(tempered), parameters_sha256(AtTemperature(model, 2, torch::kCPU)));
  }
}

// The bound is five standard errors of the frequency of one of 16 states.
TEST(AtTemperature, SamplersDrawFromIt) {
  constexpr int64_t kChains = 4000;
  for (const auto& [name, model] : cases()) {
    AtTemperature tempered(model, kTemperature, torch::kCPU);
    const torch::Tensor u = energies(*model, all_states(), torch::kCPU);
    const torch::Tensor p = torch::softmax(-u / kTemperature, 0);
    for (const char* sampler_name : {"pafs", "gibbs", "gwg"}) {
      SCOPED_TRACE(name + " " + sampler_name);
      SamplerOptions options;
      if (find_sampler(sampler_name).option("radius")) options.radius = 2;
      const auto sampler = make_sampler(sampler_name, options, tempered);
      const torch::Tensor ids = torch::arange(kChains);
      ChainState state =
          sampler->init(tempered, random_states(tempered.space(), ids, 3, torch::kCPU), ids);
      StepParams params = sampler->params(4, torch::kCPU);
      run(tempered, *sampler, state, params, {.burn_in = 60, .steps = 1}, {});
      torch::Tensor number = torch::zeros({kChains}, torch::kInt64);
      for (int64_t i = kSites; i-- > 0;) {
        number = 2 * number + state.x.select(1, i).to(torch::kInt64);
      }
      const torch::Tensor share =
          torch::bincount(number, {}, p.size(0)).to(torch::kFloat64) / kChains;
      const torch::Tensor error = torch::sqrt(p * (1 - p) / static_cast<double>(kChains));
      EXPECT_LT(((share - p).abs() / error).max().item<double>(), 5);
      // Energies that are recorded are those at temperature 1.
      tempered.flush_energy(state.x, state.current);
      EXPECT_TRUE(
          torch::allclose(state.current.untempered(), u.index_select(0, number), 1e-6, 1e-6));
    }
  }
}

TEST(AtTemperature, AnnealingFindsItsLogZ) {
  for (const auto& [name, model] : cases()) {
    SCOPED_TRACE(name);
    AtTemperature tempered(model, kTemperature, torch::kCPU);
    const torch::Tensor u = energies(*model, all_states(), torch::kCPU);
    const double log_z = torch::logsumexp(-u / kTemperature, 0).item<double>();
    const Factorised start = Factorised::uniform(tempered.space(), torch::kCPU);
    for (const char* sampler_name : {"pafs", "gibbs"}) {
      SCOPED_TRACE(sampler_name);
      SamplerOptions options;
      if (find_sampler(sampler_name).option("radius")) options.radius = 2;
      const auto sampler = make_sampler(sampler_name, options, tempered);
      const AisOptions ais{.chains = 400, .temperatures = 40, .seed = 8};
      const AisResult found =
          AnnealedImportanceSampling(tempered, *sampler, start, ais, torch::kCPU).run();
      EXPECT_LT(found.log_z_se, 0.1);
      EXPECT_NEAR(found.log_z, log_z, 4 * found.log_z_se);
    }
  }
}

TEST(AtTemperature, RefusesTemperaturesThatAreNone) {
  const auto model = cases().front().model;
  for (const double t : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(AtTemperature(model, t, torch::kCPU), OptionError) << t;
  }
}

}  // namespace
}  // namespace isinglass::at_temperature_test
