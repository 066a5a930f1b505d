// Steps on a GPU, for every sampler of the registry on every model that it takes: several steps at
// once equal single steps, and captured steps (engine/run/step_graph.h) equal uncaptured ones, bit
// for bit; and the host waits for nothing within a step. Without a GPU: how the run loop handles
// several steps at once.
#include <ATen/Context.h>
#include <c10/cuda/CUDAFunctions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "engine/run/step_graph.h"
#include "engine/samplers/gibbs.h"
#include "models/full_precision.h"
#include "models/instances/instances.h"
#include "models/lattice/lattice_model.h"
#include "tests/models/samples.h"

namespace isinglass::gpu_steps_test {
namespace {

constexpr int64_t kChains = 12;
constexpr uint64_t kSeed = 31;

struct Chains {
  ChainState state;
  StepParams params;

  Chains(const Sampler& sampler, EnergyModel& model, torch::Device device)
      : state(sampler.init(model, start(model, 3, device), torch::arange(kChains))),
        params(sampler.params(kSeed, device)) {}

  static torch::Tensor start(const EnergyModel& model, uint64_t seed, torch::Device device) {
    return random_states(model.space(), torch::arange(kChains), seed, device);
  }
};

void expect_equal(const Chains& a, const Chains& b) {
  EXPECT_TRUE(torch::equal(a.state.x, b.state.x));
  EXPECT_TRUE(torch::equal(a.state.current.energy, b.state.current.energy));
  const Statistics &s = a.state.statistics, &t = b.state.statistics;
  EXPECT_TRUE(torch::equal(s.acceptance, t.acceptance));
  EXPECT_TRUE(torch::equal(s.acceptance_sum, t.acceptance_sum));
  EXPECT_TRUE(torch::equal(s.hops_sum, t.hops_sum));
  EXPECT_TRUE(torch::equal(s.non_finite, t.non_finite));
  EXPECT_TRUE(torch::equal(a.params.rng, b.params.rng));
}

SamplerOptions small_options(const SamplerEntry& entry) {
  SamplerOptions options;
  if (entry.option("radius")) options.radius = 2;
  if (entry.option("block")) options.block = 2;
  if (entry.option("group")) options.group = 2;
  if (entry.option("damping")) options.damping = 0.6;
  return options;
}

// Calls f(sampler, model) with every model that the sampler takes, in every scan of the sampler.
template <class F>
void for_each_model(const SamplerEntry& entry, F f) {
  for (const ModelSample& sample : model_samples()) {
    const auto model = load_sample(sample);
    if (!entry.fits(*model)) continue;
    SCOPED_TRACE(sample.label);
    f(*make_sampler(entry.name, small_options(entry), *model), *model);
    if (entry.option("scan") && sample.lattice && dynamic_cast<LatticeModel*>(model.get())) {
      f(*make_sampler(entry.name, {.scan = Scan::kChromatic}, *model), *model);
    }
  }
}

// Samplers with steps that can be captured (engine/run/step_graph.h), on some model.
std::vector<std::string> captured_samplers() {
  std::vector<std::string> names;
  for (const SamplerEntry& entry : sampler_registry()) {
    const auto fitting = samples_that([&](auto&, EnergyModel& model) {
      return entry.fits(model) && model.capturable() &&
             !make_sampler(entry.name, small_options(entry), model)->needs_host_sync();
    });
    if (!fitting.empty()) names.push_back(entry.name);
  }
  return names;
}

class StepsGpu : public testing::TestWithParam<std::string> {
 protected:
  FullPrecision full_;

  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  }

  // Calls f(sampler, model) with every pair on the GPU that can be captured: there is one.
  template <class F>
  void for_each_captured(F f) {
    int pairs = 0;
    for_each_model(find_sampler(GetParam()), [&](const Sampler& sampler, EnergyModel& model) {
      if (sampler.needs_host_sync() || !model.capturable()) return;
      ++pairs;
      model.to(torch::kCUDA);
      f(sampler, model);
    });
    EXPECT_GT(pairs, 0);
  }
};

TEST_P(StepsGpu, TheHostWaitsForNothing) {
  for_each_captured([](const Sampler& sampler, EnergyModel& model) {
    Chains chains(sampler, model, torch::kCUDA);
    const auto step = [&] { sampler.step(model, chains.state, chains.params); };
    for (int t = 0; t < 3; ++t) step();
    c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_ERROR);
    EXPECT_NO_THROW(for (int t = 0; t < 3; ++t) step());
    c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_DISABLED);
  });
}

TEST_P(StepsGpu, CapturedStepsMakeTheSameChains) {
  for_each_captured([](const Sampler& sampler, EnergyModel& model) {
    Chains plain(sampler, model, torch::kCUDA), captured(sampler, model, torch::kCUDA);
    StepGraph graph(sampler, /*capture=*/true);
    const auto both = [&](int steps) {
      for (int t = 0; t < steps; ++t) {
        const auto info = sampler.step(model, plain.state, plain.params);
        EXPECT_EQ(graph.step(model, captured.state, captured.params).evaluations, info.evaluations);
      }
      expect_equal(plain, captured);
    };
    both(10);
    // The graph remains valid when the chains move to other states.
    const torch::Tensor x = Chains::start(model, 4, torch::kCUDA);
    for (Chains* chains : {&plain, &captured}) {
      sampler.reset(model, chains->state, x, torch::arange(kChains) + 5);
    }
    both(5);
    graph.invalidate();
    both(3);
  });
}

INSTANTIATE_TEST_SUITE_P(Registry, StepsGpu, testing::ValuesIn(captured_samplers()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Only the state on the GPU shows which samplers make several steps at once. All that do are
// compared, and sweeps, paths and jumps on lattices do.
TEST(ManyStepsGpu, AtOnceAreThoseOneByOne) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  std::set<std::string> compared;
  for (const SamplerEntry& entry : sampler_registry()) {
    SCOPED_TRACE(entry.name);
    for_each_model(entry, [&](const Sampler& sampler, EnergyModel& model) {
      model.to(torch::kCUDA);
      Chains many(sampler, model, torch::kCUDA), single(sampler, model, torch::kCUDA);
      const int64_t n = sampler.steps_at_once(many.state);
      if (n == 1) return;
      compared.insert(entry.name);
      for (const int64_t steps : {n, int64_t{3}}) {
        int64_t evaluations = 0;
        for (int64_t t = 0; t < steps; ++t) {
          evaluations += sampler.step(model, single.state, single.params).evaluations;
        }
        EXPECT_EQ(sampler.steps(model, many.state, many.params, steps).evaluations, evaluations);
        expect_equal(single, many);
      }
    });
  }
  for (const char* name : {"gibbs", "gwg", "pafs", "lb", "pas", "lbj", "dlp"}) {
    EXPECT_TRUE(compared.count(name)) << name;
  }
}

// States that exceed a GPU block: one launch per colour, and an energy in parts.
TEST(LargeLatticesGpu, AreSweptAsOnTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const std::string instance = "ising-grid:side=192,coupling=0.4";
  const auto here = make_instance(instance), there = make_instance(instance);
  there->to(torch::kCUDA);
  const auto sampler = make_sampler("gibbs", {.scan = Scan::kChromatic}, *here);
  Chains a(*sampler, *here, torch::kCPU), b(*sampler, *there, torch::kCUDA);
  for (int t = 0; t < 5; ++t) {
    sampler->step(*here, a.state, a.params);
    sampler->step(*there, b.state, b.params);
  }
  EXPECT_TRUE(torch::equal(a.state.x, b.state.x.cpu()));
  EXPECT_TRUE(torch::allclose(a.state.current.energy, b.state.current.energy.cpu(), 1e-9));
  EXPECT_TRUE(torch::equal(a.state.statistics.hops_sum, b.state.statistics.hops_sum.cpu()));
}

// In one process, whichever device is current, chains on the second GPU equal those on the first.
TEST(TwoDevicesGpu, TwoModelsMakeTheSameChains) {
  if (torch::cuda::device_count() < 2) GTEST_SKIP() << "fewer than two GPUs";
  const FullPrecision full;
  const std::vector<torch::Device> devices = {{torch::kCUDA, 0}, {torch::kCUDA, 1}};
  for (const ModelSample& sample : model_samples()) {
    const std::vector<std::shared_ptr<EnergyModel>> models = {load_sample(sample),
                                                              load_sample(sample)};
    for (const SamplerEntry& entry : sampler_registry()) {
      if (!entry.fits(*models[0])) continue;
      SCOPED_TRACE(sample.label + " " + entry.name);
      const auto sampler = make_sampler(entry.name, small_options(entry), *models[0]);
      const bool capture = !sampler->needs_host_sync() && models[0]->capturable();
      std::vector<Chains> chains;
      std::vector<StepGraph> graphs;
      for (size_t d = 0; d < devices.size(); ++d) {
        models[d]->to(devices[d]);
        chains.emplace_back(*sampler, *models[d], devices[d]);
        graphs.emplace_back(*sampler, capture);
      }
      for (int t = 0; t < 6; ++t) {
        for (size_t d = 0; d < devices.size(); ++d) {
          graphs[d].step(*models[d], chains[d].state, chains[d].params);
        }
      }
      const ChainState &a = chains[0].state, &b = chains[1].state;
      EXPECT_EQ(b.x.device(), devices[1]);
      EXPECT_TRUE(torch::equal(a.x.cpu(), b.x.cpu()));
      EXPECT_TRUE(torch::equal(a.current.energy.cpu(), b.current.energy.cpu()));
      EXPECT_TRUE(torch::equal(a.statistics.hops_sum.cpu(), b.statistics.hops_sum.cpu()));
    }
  }
}

// A sampler that takes five steps at once, on the CPU.
class ManySweeps : public SweepSampler {
 public:
  int64_t steps_at_once(const ChainState&) const override { return 5; }
};

struct Seen : Observer {
  Seen(bool burn_in, bool kept) : every_of_burn_in(burn_in), every_kept(kept) {}
  void on_step(int64_t step, bool burn_in, const ChainState& state) override {
    steps.push_back(burn_in ? step - 12 : step);
  }
  bool every_step(bool burn_in) const override { return burn_in ? every_of_burn_in : every_kept; }
  void on_draw(int64_t draw, const ChainState& state) override {
    draws.push_back(state.x.clone());
    energies.push_back(state.current.energy.clone());
  }
  bool every_of_burn_in, every_kept;
  std::vector<int64_t> steps;
  std::vector<torch::Tensor> draws, energies;
};

TEST(StepsAtOnce, TheRunLoopMakesTheSameDraws) {
  const std::vector<ModelSample> samples = model_samples();
  const auto sample = std::find_if(samples.begin(), samples.end(),
                                   [](const ModelSample& s) { return s.model == "ising"; });
  const auto model = load_sample(*sample);
  const SweepSampler single;
  const ManySweeps many;
  const RunPlan plan{.burn_in = 12, .steps = 31, .thin = 7};
  const auto run_of = [&](const Sampler& sampler, Seen& seen) {
    Chains chains(sampler, *model, torch::kCPU);
    const RunResult result = run(*model, sampler, chains.state, chains.params, plan, {&seen});
    EXPECT_EQ(chains.params.step(), 43);
    return result;
  };
  Seen one(false, false), at_once(false, false), every(true, true), burn_in(true, false);
  const RunResult a = run_of(single, one), b = run_of(many, at_once), c = run_of(many, every),
                  d = run_of(many, burn_in);
  ASSERT_EQ(one.draws.size(), 4u);
  for (size_t n = 0; n < 4; ++n) {
    EXPECT_TRUE(torch::equal(one.draws[n], at_once.draws[n]));
    EXPECT_TRUE(torch::equal(one.energies[n], at_once.energies[n]));
    EXPECT_TRUE(torch::equal(one.draws[n], every.draws[n]));
  }
  for (const RunResult& other : {b, c, d}) {
    EXPECT_EQ(other.steps, a.steps);
    EXPECT_EQ(other.energy_evaluations, a.energy_evaluations);
    EXPECT_EQ(other.hops, a.hops);
    EXPECT_EQ(other.acceptance, a.acceptance);
  }
  EXPECT_EQ(every.steps, one.steps);  // all, if an observer needs them
  const std::vector<int64_t> last = {-8, -3, -1, 4, 6, 11, 13, 18, 20, 25, 27, 30};
  EXPECT_EQ(at_once.steps, last);
  std::vector<int64_t> first(12);  // all of burn-in only
  std::iota(first.begin(), first.end(), -12);
  first.insert(first.end(), last.begin() + 3, last.end());
  EXPECT_EQ(burn_in.steps, first);
}

}  // namespace
}  // namespace isinglass::gpu_steps_test
