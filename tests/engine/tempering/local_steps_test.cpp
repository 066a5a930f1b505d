// Tempered paths on a lattice, whose steps are local at every chain's β, against those of the same
// target without its graph: the draws are the same. Swaps give chains another β, and rung 0 gets
// new states.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/annealing/tempered_model.h"
#include "engine/registry.h"
#include "engine/tempering/parallel_tempering.h"
#include "models/lattice/ising.h"
#include "models/lattice/potts.h"
#include "tests/engine/samplers/dense_model.h"

namespace isinglass::local_steps_test {
namespace {

constexpr int64_t kEnsembles = 4, kRungs = 5;

// Sites in a ring, with a chord from each to the one three further.
torch::Tensor ring_with_chords(int64_t sites) {
  const torch::Tensor site = torch::arange(sites);
  const auto to = [&](int64_t ahead) { return torch::stack({site, (site + ahead) % sites}, 1); };
  return torch::cat({to(1), to(3)});
}

class Ladder {
 public:
  Ladder(EnergyModel& model, const std::string& sampler, const SamplerOptions& options,
         int64_t exploration)
      : start_(Factorised::uniform(model.space(), torch::kCPU)),
        path_(model, &start_, torch::kCPU, TemperedModel::Form::kParts, 2),
        tempering_(model, make_sampler(sampler, options, path_), start_,
                   {.rungs = kRungs, .exploration = exploration, .scans = 100}),
        model_(model),
        state_(tempering_.init(model,
                               torch::zeros({kEnsembles, model.space().sites}, torch::kUInt8),
                               torch::arange(kEnsembles))),
        params_(tempering_.params(3, torch::kCPU)) {}

  void burn_in(int64_t scans) {
    for (int64_t t = 0; t < scans; ++t) {
      tempering_.burn_in_step(model_, state_, params_, t, scans);
    }
  }
  const ChainState& step() {
    tempering_.step(model_, state_, params_);
    return state_;
  }
  TemperingReport report() const { return tempering_.report(state_, params_); }

 private:
  Factorised start_;
  TemperedModel path_;
  ParallelTempering tempering_;
  EnergyModel& model_;
  ChainState state_;
  StepParams params_;
};

void expect_alike(LatticeModel& model, const std::string& name, const SamplerOptions& options,
                  int64_t exploration) {
  DenseModel dense(model);
  Ladder local(model, name, options, exploration), full(dense, name, options, exploration);
  local.burn_in(30);
  full.burn_in(30);
  for (int64_t t = 0; t < 100; ++t) {
    const ChainState &a = local.step(), &b = full.step();
    ASSERT_TRUE(torch::equal(a.x, b.x)) << "scan " << t;
    ASSERT_TRUE(torch::allclose(a.current.energy, b.current.energy, 1e-9, 1e-9));
  }
  const TemperingReport a = local.report(), b = full.report();
  EXPECT_EQ(a.round_trips, b.round_trips);
  for (size_t i = 0; i < a.rejection.size(); ++i) {
    EXPECT_NEAR(a.rejection[i], b.rejection[i], 1e-9);
    EXPECT_LT(a.rejection[i], 0.9);  // chains change their rungs
  }
  for (size_t i = 0; i < a.acceptance.size(); ++i) {
    EXPECT_NEAR(a.acceptance[i], b.acceptance[i], 1e-9);
  }
}

void expect_alike_by_all_samplers(LatticeModel& model) {
  for (const std::string name : {"gwg", "pafs", "nb", "lb", "pas"}) {
    for (const int64_t exploration : {1, 3}) {
      for (const Balancing g : {Balancing::kSqrt, Balancing::kBarker}) {
        SCOPED_TRACE(fmt::format("{} exploration {} g {}", name, exploration, int(g)));
        SamplerOptions options;
        options.balancing = g;
        if (name != "lb") options.radius = 2.5;
        expect_alike(model, name, options, exploration);
      }
    }
  }
}

TEST(TemperedLocalSteps, IsingPathsAreThoseOfTheDenseKernels) {
  torch::manual_seed(5);
  const torch::Tensor edges = ring_with_chords(40);
  IsingModel model(edges, 0.5 * torch::randn({edges.size(0)}, torch::kFloat64),
                   0.3 * torch::randn({40}, torch::kFloat64));
  expect_alike_by_all_samplers(model);
}

TEST(TemperedLocalSteps, PottsPathsAreThoseOfTheDenseKernels) {
  torch::manual_seed(6);
  const torch::Tensor edges = ring_with_chords(35);
  PottsModel model(edges, 0.5 * torch::randn({edges.size(0)}, torch::kFloat64),
                   0.5 * torch::randn({35, 3}, torch::kFloat64));
  expect_alike_by_all_samplers(model);
}

// Every rung with a path length of its own.
TEST(TemperedLocalSteps, AdaptedPathsAreThoseOfTheDenseKernels) {
  torch::manual_seed(7);
  const torch::Tensor edges = ring_with_chords(40);
  IsingModel model(edges, torch::full({edges.size(0)}, 0.4, torch::kFloat64),
                   torch::zeros({40}, torch::kFloat64));
  expect_alike(model, "pafs", {.radius = 2, .target_acceptance = 0.574, .adapt = true}, 2);
}

}  // namespace
}  // namespace isinglass::local_steps_test
