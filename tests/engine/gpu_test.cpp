// The CPU and CUDA twins of every sampler of the registry: one step from equal states ends in equal
// states, and on lattices the chains stay equal.
//
// The twins sum in different orders, so that a chain may differ from its twin when a random number
// lies within rounding of the boundary between two outcomes. Such a chain also changes its outcome
// on the CPU alone when the fields change by about the same amount. This is the only accepted
// excuse.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "tests/models/samples.h"

namespace isinglass::gpu_test {
namespace {

constexpr int64_t kSide = 20, kChains = 512, kLongRun = 50;
constexpr uint64_t kSeed = 29;
constexpr double kMostDiffering = 0.01;  // fraction of the chains
// Noise in every field moves a boundary between sites by about 1/√D of its size: 1e-5, which is a
// few float32 roundings.
constexpr double kNudge = 2e-4;
constexpr int kNudges = 8;
constexpr double kAcceptance = 1e-3, kEnergy = 1e-5;

torch::Tensor lattice_edges() {
  const torch::Tensor site = torch::arange(kSide * kSide).view({kSide, kSide});
  const auto pairs = [](const torch::Tensor& a, const torch::Tensor& b) {
    return torch::stack({a.flatten(), b.flatten()}, 1);
  };
  return torch::cat({pairs(site.slice(1, 0, -1), site.slice(1, 1)),
                     pairs(site.slice(0, 0, -1), site.slice(0, 1))});
}

// Targets are disordered, so that two neighbours are equally probable only by accident.
std::vector<ModelSample> targets() {
  torch::manual_seed(7);
  const torch::Tensor edges = lattice_edges();
  const int64_t sites = kSide * kSide;
  return {
      {"ising",
       "ising",
       {{"edges", edges},
        {"coupling", 0.3 + 0.1 * torch::randn({edges.size(0)})},
        {"field", 0.2 * torch::randn({sites})}},
       {},
       true,
       {}},
      {"potts",
       "potts",
       {{"edges", edges},
        {"coupling", 0.6 + 0.1 * torch::randn({edges.size(0)})},
        {"field", 0.2 * torch::randn({sites, 3})}},
       {},
       true,
       {}},
      {"rbm",
       "rbm",
       {{"W", 0.1 * torch::randn({100, 200})},
        {"b_v", 0.2 * torch::randn({200})},
        {"b_h", 0.2 * torch::randn({100})}},
       {},
       false,
       {}},
  };
}

// The same target with noise added to its fields.
ModelSample nudged(ModelSample target, double size, uint64_t seed) {
  torch::manual_seed(seed);
  const std::string field = target.lattice ? "field" : "b_v";
  for (auto& [name, value] : target.tensors) {
    if (name == field) value = value + size * torch::randn_like(value);
  }
  return target;
}

ModelSample with_stronger_coupling(ModelSample target, double factor) {
  for (auto& [name, value] : target.tensors) {
    if (name == "coupling") value = factor * value;
  }
  return target;
}

// The noise comes in pairs of opposite signs: one of the two crosses a nearby boundary.
std::vector<std::shared_ptr<EnergyModel>> nudged_models(const ModelSample& target,
                                                        double largest = kNudge) {
  std::vector<std::shared_ptr<EnergyModel>> models;
  for (int i = 0; i < kNudges; ++i) {
    const double size = i % 2 == 0 ? largest : -largest;
    models.push_back(load_sample(nudged(target, size, static_cast<uint64_t>(i / 2))));
  }
  return models;
}

struct Chains {
  ChainState state;
  StepParams params;

  Chains(const Sampler& sampler, EnergyModel& model, const torch::Tensor& x, torch::Device device)
      : state(sampler.init(model, x.to(device), torch::arange(x.size(0)))),
        params(sampler.params(kSeed, device)) {}

  // Continues from the states of other chains, with what they learned.
  Chains(const Sampler& sampler, EnergyModel& model, const Chains& from, torch::Device device)
      : Chains(sampler, model, from.state.x, device) {
    if (const HasWarmup* warmup = sampler.warmup()) {
      warmup->restore(state, warmup->learned(from.state));
    }
    params.rng.copy_(from.params.rng);
    params.scale.copy_(from.params.scale);
  }
};

torch::Tensor start_states(const EnergyModel& model) {
  return random_states(model.space(), torch::arange(kChains), 3, torch::kCPU);
}

// bool [B]: chains whose last steps had different outcomes.
torch::Tensor parted(const ChainState& a, const ChainState& b) {
  const torch::Tensor acceptance =
      (a.statistics.acceptance.cpu() - b.statistics.acceptance.cpu()).abs();
  return (a.x.cpu() != b.x.cpu()).any(1) | (acceptance > kAcceptance);
}

struct Agreement {
  int64_t parted = 0;
  int64_t unexcused = 0;    // differs, and no nudge on the CPU explains it
  double energy_error = 0;  // largest relative error among chains that did not differ
  int64_t of = 0;           // chains
};

// Makes one step of the sampler on the CPU and one with the twin's model on its device, from the
// same states; the next one starts from the states of the CPU's chains.
Agreement compare_steps(const Sampler& sampler, EnergyModel& model, EnergyModel& twin,
                        torch::Device device,
                        const std::vector<std::shared_ptr<EnergyModel>>& nudges, int64_t steps) {
  Agreement result;
  Chains here(sampler, model, start_states(model), torch::kCPU);
  for (int64_t t = 0; t < steps; ++t) {
    Chains there(sampler, twin, here, device);
    std::vector<Chains> excuses;
    for (const auto& nudge : nudges) excuses.emplace_back(sampler, *nudge, here, torch::kCPU);
    sampler.step(model, here.state, here.params);
    sampler.step(twin, there.state, there.params);
    const torch::Tensor differs = parted(here.state, there.state);
    torch::Tensor excused = torch::zeros_like(differs);
    for (size_t i = 0; i < excuses.size(); ++i) {
      sampler.step(*nudges[i], excuses[i].state, excuses[i].params);
      excused = excused | parted(here.state, excuses[i].state);
    }
    const torch::Tensor energy = here.state.current.energy;
    const torch::Tensor error =
        (there.state.current.energy.cpu() - energy).abs() / energy.abs().clamp_min(1);
    result.parted += differs.sum().item<int64_t>();
    result.unexcused += (differs & ~excused).sum().item<int64_t>();
    result.energy_error =
        std::max(result.energy_error, error.masked_fill(differs, 0).max().item<double>());
    result.of += kChains;
  }
  return result;
}

void expect_agreement(const Agreement& agreement) {
  EXPECT_EQ(agreement.unexcused, 0) << "of " << agreement.parted << " chains that parted";
  EXPECT_LE(static_cast<double>(agreement.parted),
            kMostDiffering * static_cast<double>(agreement.of));
  EXPECT_LE(agreement.energy_error, kEnergy);
}

// Returns the number of chains whose states are equal after `steps` steps of both.
int64_t equal_after(const Sampler& sampler, EnergyModel& model, EnergyModel& twin,
                    torch::Device device, int64_t steps) {
  const torch::Tensor x = start_states(model);
  Chains here(sampler, model, x, torch::kCPU), there(sampler, twin, x, device);
  for (int64_t t = 0; t < steps; ++t) {
    sampler.step(model, here.state, here.params);
    sampler.step(twin, there.state, there.params);
  }
  return (here.state.x == there.state.x.cpu()).all(1).sum().item<int64_t>();
}

class SamplersGpu : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  }

  // Calls f(target, sampler, model, its twin on the GPU) for every target that the sampler takes;
  // the samplers that take none are no instances.
  template <class F>
  void for_each_target(F f) {
    const SamplerEntry& entry = find_sampler(GetParam());
    for (const ModelSample& target : targets()) {
      const auto model = load_sample(target), twin = load_sample(target);
      if (!entry.fits(*model)) continue;
      SCOPED_TRACE(target.label);
      twin->to(torch::kCUDA);
      f(target, *make_sampler(entry.name, {}, *model), *model, *twin);
    }
  }
};

TEST_P(SamplersGpu, OneStepAgrees) {
  for_each_target([](const ModelSample& target, const Sampler& sampler, EnergyModel& model,
                     EnergyModel& twin) {
    expect_agreement(compare_steps(sampler, model, twin, torch::kCUDA, nudged_models(target), 3));
  });
}

// A sampler that takes one of the targets takes a lattice among them.
TEST_P(SamplersGpu, ChainsStayEqualOnLattices) {
  int lattices = 0;
  for_each_target([&](const ModelSample& target, const Sampler& sampler, EnergyModel& model,
                      EnergyModel& twin) {
    if (!target.lattice) return;
    ++lattices;
    const int64_t equal = equal_after(sampler, model, twin, torch::kCUDA, kLongRun);
    EXPECT_GE(static_cast<double>(equal), 0.99 * kChains);
  });
  EXPECT_GT(lattices, 0);
}

std::vector<std::string> samplers_of_targets() {
  std::vector<std::string> names;
  std::vector<std::shared_ptr<EnergyModel>> models;
  for (const ModelSample& target : targets()) models.push_back(load_sample(target));
  for (const SamplerEntry& entry : sampler_registry()) {
    const bool fits = std::any_of(models.begin(), models.end(),
                                  [&](const auto& model) { return entry.fits(*model); });
    if (fits) names.push_back(entry.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, SamplersGpu, testing::ValuesIn(samplers_of_targets()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Tests the comparison itself on the CPU. Twins that round differently pass. If they round so
// coarsely that chains differ, these are excused. A twin whose couplings are 1 % off does not pass.
class TwinComparison : public testing::TestWithParam<std::string> {
 protected:
  ModelSample target = targets().front();
  std::shared_ptr<EnergyModel> model = load_sample(target);
  std::unique_ptr<Sampler> sampler = make_sampler(GetParam(), {}, *model);
};

TEST_P(TwinComparison, PassesRounding) {
  const auto twin = load_sample(nudged(target, 1e-7, 99));
  expect_agreement(compare_steps(*sampler, *model, *twin, torch::kCPU, nudged_models(target), 3));
  EXPECT_GE(equal_after(*sampler, *model, *twin, torch::kCPU, kLongRun), 0.99 * kChains);
}

TEST_P(TwinComparison, CatchesAWrongTwin) {
  const auto twin = load_sample(with_stronger_coupling(target, 1.01));
  const Agreement found =
      compare_steps(*sampler, *model, *twin, torch::kCPU, nudged_models(target), 3);
  EXPECT_GT(found.unexcused, 0);
  EXPECT_GT(found.energy_error, kEnergy);
  EXPECT_LT(equal_after(*sampler, *model, *twin, torch::kCPU, kLongRun), 0.99 * kChains);
}

INSTANTIATE_TEST_SUITE_P(Samplers, TwinComparison, testing::Values("gibbs", "pafs"),
                         [](const auto& info) { return info.param; });

// Rounding is ten times coarser on both sides, so that some chains differ: all are excused, and
// without nudges none is.
TEST(TwinExcuse, CoversChainsNearABoundary) {
  const ModelSample target = targets().front();
  const auto model = load_sample(target), twin = load_sample(nudged(target, kNudge, 99));
  const auto sampler = make_sampler("pafs", {}, *model);
  const auto nudges = nudged_models(target, 10 * kNudge);
  const Agreement found = compare_steps(*sampler, *model, *twin, torch::kCPU, nudges, 8);
  EXPECT_GT(found.parted, 0);
  EXPECT_EQ(found.unexcused, 0);
  const Agreement without = compare_steps(*sampler, *model, *twin, torch::kCPU, {}, 8);
  EXPECT_EQ(without.unexcused, found.parted);
}

}  // namespace
}  // namespace isinglass::gpu_test
