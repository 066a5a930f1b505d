// Rank statistics of the recorded energies equal those of the energies of the recorded draws, for
// every sampler on every model whose energy differences it may use, and on a network. The most
// probable state of the targets has half of the mass, so that ties matter.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/diagnostics/rank_normalised.h"
#include "engine/observers/recorder.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "tests/models/samples.h"

namespace isinglass::recorded_energy_test {
namespace {

constexpr int64_t kChains = 8, kSteps = 200;

// Returns the largest probability among 1024 random states, which are nearly all states of these
// small models.
double largest_probability(EnergyModel& model) {
  const torch::Tensor x = random_states(model.space(), torch::arange(1024), 1, torch::kCPU);
  const torch::Tensor states = std::get<0>(torch::unique_dim(x, 0));
  return (-model.energy(states).to(torch::kFloat64)).softmax(0).max().item<double>();
}

// Returns the sample with its parameters scaled such that one state has half of the mass.
std::shared_ptr<EnergyModel> peaked(const ModelSample& sample) {
  std::shared_ptr<EnergyModel> model;
  for (double scale = 1; scale <= 64; scale *= 2) {
    ModelSample scaled = sample;
    for (auto& [name, tensor] : scaled.tensors) {
      if (tensor.is_floating_point()) tensor = tensor * scale;
    }
    try {
      model = load_sample(scaled);
    } catch (const std::exception&) {  // a model may have a range for its parameters
      return model;
    }
    if (largest_probability(*model) >= 0.5) break;
  }
  return model;
}

SamplerOptions small_options(const SamplerEntry& entry) {
  SamplerOptions options;
  if (entry.option("radius")) options.radius = 2;
  if (entry.option("block")) options.block = 2;
  if (entry.option("group")) options.group = 2;
  return options;
}

void expect_same(double a, double b) {
  if (std::isfinite(a) && std::isfinite(b)) {
    EXPECT_NEAR(a, b, 1e-9 * b);
  } else {
    EXPECT_TRUE((std::isnan(a) && std::isnan(b)) || a == b) << a << " and " << b;
  }
}

class RecordedEnergy : public testing::TestWithParam<ModelSample> {
 protected:
  void expect_ranks_of_draws(EnergyModel& model, const Sampler& sampler) {
    const torch::Tensor ids = torch::arange(kChains);
    ChainState state = sampler.init(model, random_states(model.space(), ids, 3, torch::kCPU), ids);
    StepParams params = sampler.params(5, torch::kCPU);
    const RunPlan plan{.burn_in = 50, .steps = kSteps};
    Recorder recorder({kSteps, kChains, model.space().sites, state.x.scalar_type()}, {},
                      /*keep_samples=*/true, {}, Ranks::single_process(), {&model, 64});
    run(model, sampler, state, params, plan, {&recorder});
    const torch::Tensor draws = recorder.samples();
    const torch::Tensor exact = model.energy(draws.flatten(0, 1)).detach().view({kSteps, kChains});
    const double rounding = rounding_of(exact.scalar_type());
    const torch::Tensor energy = exact.to(torch::kFloat64);
    for (const auto statistic : {rank_rhat, bulk_ess, tail_ess}) {
      expect_same(statistic(recorder.energy(), rounding), statistic(energy, rounding));
    }
    EXPECT_LE((recorder.energy() - energy).abs().max().item<double>(),
              2 * rounding * energy.abs().max().item<double>());
  }
};

TEST_P(RecordedEnergy, HasTheRanksOfTheDraws) {
  const std::shared_ptr<EnergyModel> model = peaked(GetParam());
  if (!model->conditionals() && !model->as_lattice() && GetParam().label != "mlp") return;
  for (const SamplerEntry& entry : sampler_registry()) {
    if (!entry.fits(*model)) continue;
    SCOPED_TRACE(entry.name);
    expect_ranks_of_draws(*model, *make_sampler(entry.name, small_options(entry), *model));
  }
  for (const Scan scan : {Scan::kSystematic, Scan::kChromatic}) {
    if (!find_sampler("gibbs").fits(*model)) continue;
    if (scan == Scan::kChromatic && !model->sweeps()) continue;
    SCOPED_TRACE(static_cast<int>(scan));
    expect_ranks_of_draws(*model, *make_sampler("gibbs", {.scan = scan}, *model));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RecordedEnergy, testing::ValuesIn(model_samples()),
                         [](const auto& sample) { return sample.param.label; });

}  // namespace
}  // namespace isinglass::recorded_energy_test
