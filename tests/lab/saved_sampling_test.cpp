// A sampling run that is stopped or killed at any moment and resumed from its directory has the
// draws of an uninterrupted run, to the bit: every sampler, on every kind of state that it moves.
#include "lab/run/saved_sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "engine/registry.h"
#include "io/error.h"
#include "lab/run/sampling.h"
#include "models/combined/residual.h"
#include "models/density/gaussian_mixture.h"
#include "models/lattice/graph_problem.h"
#include "models/network/mlp.h"
#include "models/network/rbm.h"
#include "tests/support/inputs.h"
#include "tests/support/ranks_of_threads.h"
#include "tests/support/scratch.h"

namespace isinglass::saved_sampling_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using torch::Tensor;

struct Draws {
  Tensor samples = {}, energy = {}, statistic = {}, acceptance = {}, hops = {};
  NamedTensors learned = {};
  Json summary = {};
  int64_t steps = 0;
};

// The process ends here.
struct Killed {};

struct Sitting {
  int64_t stop_at = -1;         // number of the stop request that returns true
  int64_t killed_at_save = -1;  // number of saves after which the process is killed
  double every = 0;             // seconds between saves
  bool resumed = false;
};

// Returns a residual model on a base of binary sites, whose mlp has fixed numbers as parameters.
std::shared_ptr<EnergyModel> residual_on(std::shared_ptr<EnergyModel> base) {
  const auto network = std::make_shared<MlpModel>(base->space());
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& p : network->parameters()) {
    const Tensor number = torch::arange(p.numel(), torch::kFloat64);
    p.copy_((0.3 * torch::sin(number * number)).view(p.sizes()));
  }
  return std::make_shared<ResidualModel>(std::move(base), network, ResidualOptions{.bound = 4});
}

std::shared_ptr<EnergyModel> model_of(const std::string& name) {
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(3);
  const auto normal = [&](torch::IntArrayRef shape) {
    return torch::randn(shape, generator, torch::TensorOptions(torch::kFloat64));
  };
  if (name == "rbm") return std::make_shared<RbmModel>(normal({5, 8}), normal({8}), normal({5}));
  if (name == "residual") return residual_on(model_of("rbm"));
  if (name == "maxcut") {
    const Tensor edges = torch::stack({torch::arange(9), torch::arange(1, 10)}, 1);
    return std::make_shared<MaxCutModel>(Graph{
        .vertices = 10, .edges = edges, .weight = torch::linspace(-1, 2, 9, torch::kFloat64)});
  }
  if (name == "mixture") {
    return std::make_shared<GaussianMixtureModel>(torch::tensor({0.3, 0.7}, torch::kFloat64),
                                                  normal({2, 3}), normal({2, 3}).square() + 0.5);
  }
  return nullptr;
}

// Names are those of instances, or else of model_of().
SampleSpec spec_on(const std::string& target, const SamplerEntry& sampler) {
  SampleSpec spec{.sampler = {sampler.name, {}},
                  .chains = 8,
                  .burn_in = 24,
                  .steps = 30,
                  .thin = 4,
                  .statistic = "sum",
                  .seed = 6};
  if (target.find(':') != std::string::npos) spec.model.instance = target;
  if (sampler.option("adapt")) spec.sampler.options["adapt"] = true;
  return spec;
}

Draws sitting(const SampleSpec& spec, const std::string& target, const fs::path& directory,
              const Sitting& how, const Ranks& ranks = Ranks::single_process()) {
  int64_t asked = 0, saves = 0;
  Sampling sampling(spec, {.ranks = &ranks, .stop = [&] { return ++asked == how.stop_at; }},
                    {.model = model_of(target)});
  sampling.watch_mixing();
  Recorder recorder = sampling.recorder(/*keep_samples=*/true);
  StepRecorder moves(plan_of(spec), ranks);
  SavedSampling saved(sampling, recorder, &moves, directory, how.every, ranks,
                      [&](const RunProgress&) {
                        if (++saves == how.killed_at_save) throw Killed();
                      });
  if (how.resumed && SavedSampling::exists(directory)) saved.restore();
  const RunResult& result = sampling.run(recorder, {&moves}, &saved);
  Draws draws{.steps = result.steps};
  if (!ranks.is_rank0()) return draws;
  draws.samples = recorder.samples().clone();
  draws.energy = recorder.energy().clone();
  draws.statistic = recorder.statistic().clone();
  if (recorder.made() > 0) draws.acceptance = moves.acceptance().clone();
  if (recorder.made() > 0) draws.hops = moves.hops().clone();
  draws.learned = sampling.learned();
  draws.summary = sampling.summary(recorder);
  for (const char* clock : {"seconds", "steps_per_second"}) draws.summary.erase(clock);
  for (const char* clock : {"per_second", "per_second_all"}) draws.summary["ess"].erase(clock);
  if (draws.summary.contains("annealing")) {
    for (const char* clock : {"seconds", "seconds_per_chain", "mean_seconds", "time_to_solution",
                              "time_to_solution_interval"}) {
      draws.summary["annealing"].erase(clock);
    }
  }
  return draws;
}

void expect_same(const Draws& a, const Draws& b) {
  EXPECT_TRUE(torch::equal(a.samples, b.samples));
  EXPECT_TRUE(torch::equal(a.energy, b.energy));
  EXPECT_TRUE(torch::equal(a.statistic, b.statistic));
  EXPECT_TRUE(torch::equal(a.acceptance, b.acceptance));
  EXPECT_TRUE(torch::equal(a.hops, b.hops));
  ASSERT_EQ(a.learned.size(), b.learned.size());
  for (size_t i = 0; i < a.learned.size(); ++i)
    EXPECT_TRUE(torch::equal(a.learned[i].second, b.learned[i].second)) << a.learned[i].first;
  EXPECT_EQ(a.summary.dump(), b.summary.dump());
}

// The run of 24 + 30 steps is stopped at these moments, which differ in the saved data, and killed
// after a save.
void expect_to_go_on(const SampleSpec& spec, const std::string& target,
                     const std::vector<int64_t>& moments = {1, 10, 26, 43},
                     const std::vector<int64_t>& kills = {1, 9, 14}) {
  const Scratch scratch;
  const Draws whole = sitting(spec, target, scratch / "whole", {});
  EXPECT_FALSE(SavedSampling::exists(scratch / "whole"));  // it was not asked to
  for (const int64_t moment : moments) {
    SCOPED_TRACE(moment);
    const fs::path run = scratch / fmt::format("stopped{}", moment);
    fs::create_directory(run);
    sitting(spec, target, run, {.stop_at = moment});
    expect_same(whole, sitting(spec, target, run, {.resumed = true}));
  }
  // A run that is saved after every step and killed repeatedly is the same run.
  const fs::path run = scratch / "killed";
  fs::create_directory(run);
  for (const int64_t kill : kills) {
    EXPECT_THROW(
        sitting(spec, target, run, {.killed_at_save = kill, .every = 1e-9, .resumed = true}),
        Killed);
    EXPECT_TRUE(SavedSampling::exists(run));
  }
  expect_same(whole, sitting(spec, target, run, {.every = 1e-9, .resumed = true}));
}

const std::vector<std::string> kTargets = {"ising-grid:side=4,coupling=0.4",
                                           "potts-field:side=3,categories=3",
                                           "lattice-gaussian-cycle:sites=4,categories=5",
                                           "permutation:sites=5",
                                           "rbm",
                                           "mixture",
                                           "residual",
                                           "maxcut"};

TEST(SavedSampling, EverySamplerGoesOnToTheBit) {
  for (const SamplerEntry& sampler : sampler_registry()) {
    if (sampler.exchanges) continue;  // takes part in ACooledRunGoesOnToTheBit
    int64_t targets = 0;
    for (const std::string& target : kTargets) {
      SCOPED_TRACE(sampler.name + " on " + target);
      // Moves by a base are the same code for all samplers.
      if (target == "residual" && !sampler.on_base && sampler.name != "pafs") continue;
      const SampleSpec spec = spec_on(target, sampler);
      try {
        Sampling({spec}, {}, {.model = model_of(target)});
      } catch (const Error&) {
        continue;  // another kind of states
      }
      ++targets;
      expect_to_go_on(spec, target, {10, 43}, {9});
    }
    EXPECT_GT(targets, 0) << sampler.name;
  }
}

TEST(SavedSampling, LaddersGoOnToTheBit) {
  for (const char* rungs : {"4", "auto"}) {
    for (const std::string target : {"rbm", "ising-grid:side=4,coupling=0.4"}) {
      SCOPED_TRACE(target + " " + rungs);
      SampleSpec spec = spec_on(target, find_sampler("pafs"));
      spec.rungs = rungs;
      expect_to_go_on(spec, target);
    }
  }
}

TEST(SavedSampling, ACooledRunGoesOnToTheBit) {
  for (const std::string target : {"rbm", "ising-grid:side=4,coupling=0.4", "maxcut"}) {
    for (const std::string sampler : {"gwg", "pafs", "gibbs", "cluster-gibbs"}) {
      if (sampler == "cluster-gibbs" && target == "rbm") continue;
      SCOPED_TRACE(target + " " + sampler);
      SampleSpec spec = spec_on(target, find_sampler(sampler));
      spec.sampler.options.erase("adapt");
      if (sampler == "cluster-gibbs") spec.sampler.options["group"] = 4.0;
      spec.anneal = AnnealSpec{Temperatures{2, 0.5}};
      spec.population = sampler == "cluster-gibbs" ? 1 : 4;
      expect_to_go_on(spec, target);
      // A level of several steps: it is saved within a level, and at its ends.
      spec.burn_in = 250;
      expect_to_go_on(spec, target, {2, 100, 101, 102, 251, 260});
    }
  }
}

// The temperatures that are chosen, and the steps for a time, are those of the resolved spec.
TEST(SavedSampling, AChosenScheduleGoesOnToTheBit) {
  for (const std::string target : {"rbm", "maxcut"}) {
    SampleSpec spec = spec_on(target, find_sampler("gibbs"));
    spec.sampler = {};
    spec.anneal = AnnealSpec{};
    spec.burn_in = 0;
    spec.time = 2;
    const SampleSpec chosen = Sampling(spec, {}, {.model = model_of(target)}).spec();
    ASSERT_TRUE(chosen.anneal && chosen.anneal->range);
    EXPECT_GT(chosen.anneal->range->first, chosen.anneal->range->last);
    EXPECT_FALSE(chosen.time);
    EXPECT_GE(chosen.burn_in, 2);
    EXPECT_EQ(chosen.sampler.name, target == "maxcut" ? "gibbs" : "pafs");
    SampleSpec shorter = chosen;
    shorter.burn_in = std::min<int64_t>(chosen.burn_in, 120);
    expect_to_go_on(shorter, target);
  }
}

TEST(SavedSampling, GoesOnOnOtherRanks) {
  for (const std::string target : {"rbm", "ising-grid:side=4,coupling=0.4"}) {
    for (const char* rungs : {"", "3"}) {
      SCOPED_TRACE(target + " " + rungs);
      const Scratch scratch;
      SampleSpec spec = spec_on(target, find_sampler("gwg"));
      spec.rungs = rungs;
      spec.steps = 2000;  // long enough for a rank's stop request to arrive
      spec.thin = 30;
      const Draws whole = sitting(spec, target, scratch / "whole", {});
      on_ranks<bool>(2, [&](const Ranks& ranks) {
        sitting(spec, target, scratch.folder(), {.stop_at = ranks.is_rank0() ? 30 : -1}, ranks);
        return true;
      });
      ASSERT_TRUE(SavedSampling::exists(scratch.folder()));
      const auto thirds = on_ranks<Draws>(3, [&](const Ranks& ranks) {
        return sitting(spec, target, scratch.folder(), {.resumed = true}, ranks);
      });
      expect_same(whole, thirds[0]);
    }
  }
}

TEST(SavedSampling, RefusesAnotherRun) {
  const Scratch scratch;
  const std::string target = "rbm";
  const SampleSpec spec = spec_on(target, find_sampler("gwg"));
  sitting(spec, target, scratch.folder(), {.stop_at = 40});
  SampleSpec other = spec;
  other.seed = 7;
  EXPECT_ERROR(sitting(other, target, scratch.folder(), {.resumed = true}), "seed");
  other = spec;
  other.steps = 31;
  EXPECT_ERROR(sitting(other, target, scratch.folder(), {.resumed = true}), "steps");
  // A file of draws is gone.
  for (const auto& entry : fs::directory_iterator(scratch / "draws")) fs::remove(entry);
  EXPECT_ERROR(sitting(spec, target, scratch.folder(), {.resumed = true}), "counts 3 draws");
}

}  // namespace
}  // namespace isinglass::saved_sampling_test
