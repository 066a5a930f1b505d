// block-gibbs, hamming-ball and chromatic sweeps: the real step against enumeration, by model calls
// and on lattices; broken variants; the cached state; refused options.
#include "engine/samplers/block_gibbs.h"

#include <gtest/gtest.h>

#include "engine/annealing/tempered_model.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "io/error.h"
#include "models/lattice/ising.h"
#include "tests/engine/transitions.h"
#include "tests/reference/block.h"
#include "tests/reference/lattice_target.h"

namespace isinglass::block_gibbs_test {
namespace {

using reference::BlockRule;
using reference::TinyLattice;

struct BlockCase {
  int sites, categories;
  double strength;
  int block, radius;  // radius 0: block-gibbs
  bool lattice;
  bool tables = false;
};

const char* name_of(const BlockCase& c) {
  return c.radius > 0 ? "hamming-ball" : "block-gibbs";
}

SamplerOptions options_of(const BlockCase& c) {
  SamplerOptions options;
  options.block = c.block;
  if (c.radius > 0) options.radius = c.radius;
  return options;
}

class BlockExactness : public testing::TestWithParam<BlockCase> {};

TEST_P(BlockExactness, RealStepMatchesEnumeration) {
  const BlockCase& c = GetParam();
  const TinyTarget tiny{c.sites, c.categories, c.strength};
  const TinyLattice lattice{c.sites, c.categories, c.strength, c.tables};
  const Target target = c.lattice ? lattice.enumerate() : tiny.enumerate();
  const std::vector<double> pi = target.probabilities();
  const int radius = c.radius > 0 ? c.radius : c.block;
  const Matrix exact = reference::block_transitions(target, {c.block, radius, c.radius > 0});
  EXPECT_LT(reference::balance_error(exact, pi), 1e-10);
  EXPECT_LT(reference::stationarity_error(exact, pi), 1e-10);
  EXPECT_EQ(reference::communicating_classes(exact), 1);

  const Frequencies real = c.lattice
                               ? real_step(*lattice.model(), target, name_of(c), options_of(c))
                               : real_step(tiny, name_of(c), options_of(c));
  EXPECT_LT(worst_deviation(real.share, exact), 7);
  EXPECT_EQ(real.acceptance, 1);
}

std::vector<BlockCase> block_cases() {
  std::vector<BlockCase> cases;
  for (const bool lattice : {false, true}) {
    for (const double strength : {0.5, 3.0}) {
      for (const int categories : {2, 3}) {
        for (const int block : {1, 2, 3}) {
          for (int radius = 0; radius <= block; ++radius) {
            cases.push_back({3, categories, strength, block, radius, lattice});
          }
        }
      }
    }
    cases.push_back({4, 2, 1.0, 3, 2, lattice});
    cases.push_back({5, 2, 1.0, 4, 0, lattice});
  }
  cases.push_back({3, 3, 1.0, 2, 0, true, true});
  cases.push_back({4, 2, 1.0, 3, 2, true, true});
  return cases;
}

std::string block_case_name(const testing::TestParamInfo<BlockCase>& info) {
  const BlockCase& c = info.param;
  const char* kind = c.tables ? "tables" : c.lattice ? "lattice" : "calls";
  return fmt::format("{}_D{}_K{}_strength{}_m{}_r{}", kind, c.sites, c.categories,
                     static_cast<int>(10 * c.strength), c.block, c.radius);
}

INSTANTIATE_TEST_SUITE_P(All, BlockExactness, testing::ValuesIn(block_cases()), block_case_name);

// Without the auxiliary u, the ball about x biases the chain (the bias that the paper's u removes).
// Independent draws of single sites are not a joint draw.
TEST(BlockBrokenVariants, AreDetected) {
  for (const int categories : {2, 3}) {
    SCOPED_TRACE(categories);
    const TinyTarget tiny{3, categories, 2.0};
    const Target target = tiny.enumerate();
    const auto detect = [&](const Matrix& broken, const char* name, SamplerOptions options) {
      EXPECT_GT(reference::stationarity_error(broken, target.probabilities()), 1e-3);
      EXPECT_GT(worst_deviation(real_step(tiny, name, options).share, broken), 7);
    };
    detect(reference::block_transitions(target, {3, 1, false}), "hamming-ball",
           {.radius = 1, .block = 3});
    detect(reference::block_transitions(target, {3, 2, false}), "hamming-ball",
           {.radius = 2, .block = 3});
    detect(reference::independent_transitions(target, 2), "block-gibbs", {.block = 2});
  }
}

std::vector<int> sweep_order(LatticeModel& model) {
  const torch::Tensor sites = model.lattice(torch::kCPU).coloured;
  return {sites.data_ptr<int32_t>(), sites.data_ptr<int32_t>() + sites.numel()};
}

TEST(ChromaticExactness, RealSweepMatchesEnumeration) {
  for (const int sites : {3, 4, 5}) {  // an odd cycle takes three colours
    for (const int categories : {2, 3}) {
      for (const auto& [strength, tables] : {std::pair{0.5, false}, {3.0, false}, {1.0, true}}) {
        if (sites == 5 && categories == 3) continue;
        SCOPED_TRACE(
            fmt::format("D {} K {} strength {} tables {}", sites, categories, strength, tables));
        const TinyLattice lattice{sites, categories, strength, tables};
        const auto model = lattice.model();
        const Target target = lattice.enumerate();
        const Matrix exact = reference::sweep_transitions(target, sweep_order(*model));
        EXPECT_LT(reference::stationarity_error(exact, target.probabilities()), 1e-10);
        EXPECT_EQ(reference::communicating_classes(exact), 1);
        const Matrix real = real_step(*model, target, "gibbs", {.scan = Scan::kChromatic}).share;
        EXPECT_LT(worst_deviation(real, exact), 7);
        // Draws all sites at once, as if they had one colour.
        const Matrix broken = reference::independent_transitions(target, sites);
        EXPECT_GT(reference::stationarity_error(broken, target.probabilities()), 1e-3);
        EXPECT_GT(worst_deviation(real, broken), 7);
      }
    }
  }
}

// Few sites and complete graphs, whose weights are rounded for exact sums; at β = 1 and tempered.
TEST(ChromaticExactness, RealMetropolisSweepMatchesEnumeration) {
  for (const int sites : {1, 3, 4}) {
    for (const double strength : {0.3, 1.5}) {
      for (const double beta : {1.0, 0.6}) {
        SCOPED_TRACE(fmt::format("D {} strength {} beta {}", sites, strength, beta));
        const torch::Tensor edges =
            torch::combinations(torch::arange(sites), 2).view({-1, 2}).contiguous();
        const auto numbers = [&](int64_t count, double first) {
          return strength * torch::sin(1.7 * torch::arange(count, torch::kFloat64) + first);
        };
        IsingModel ising(edges, numbers(edges.size(0), 0.2), numbers(sites, 1.3));
        TemperedModel tempered(ising, nullptr, torch::kCPU);
        tempered.set_beta(beta);
        EnergyModel& model = beta == 1 ? static_cast<EnergyModel&>(ising) : tempered;
        Target target{reference::StateTable(sites, 2), {}, {}};
        const torch::Tensor energy = beta * ising.energy(states_tensor(target, 1));
        for (int64_t s = 0; s < energy.size(0); ++s) {
          target.energy.push_back(energy[s].item<double>());
        }
        const auto order = sweep_order(ising);
        const Matrix exact =
            reference::sweep_transitions(target, order, reference::flip_transitions);
        EXPECT_LT(reference::stationarity_error(exact, target.probabilities()), 1e-10);
        const Matrix real = real_step(model, target, "metropolis", {}).share;
        EXPECT_LT(worst_deviation(real, exact), 7);
        EXPECT_GT(worst_deviation(real, reference::sweep_transitions(target, order)), 7);
      }
    }
  }
}

TEST(ChromaticExactness, NeighboursDifferInColour) {
  const auto lattice = TinyLattice{7, 3, 1.0}.model()->lattice(torch::kCPU);
  std::vector<int64_t> colour(7, -1);
  const int64_t* offset = lattice.colour_offset.data_ptr<int64_t>();
  for (int64_t c = 0; c + 1 < lattice.colour_offset.numel(); ++c) {
    for (int64_t n = offset[c]; n < offset[c + 1]; ++n) {
      colour[lattice.coloured[n].item<int64_t>()] = c;
    }
  }
  for (const auto& [i, j] : TinyLattice{7, 3, 1.0}.edges()) {
    EXPECT_GE(colour[i], 0);
    EXPECT_NE(colour[i], colour[j]);
  }
  EXPECT_EQ(lattice.colour_offset.numel() - 1, 3);
}

TEST(ChromaticExactness, IsRefusedWithoutAGraph) {
  TinyModel model(TinyTarget{3, 2, 1.0});
  EXPECT_THROW(make_sampler("gibbs", {.scan = Scan::kChromatic}, model), Error);
}

// A model's energies without its lattice.
class Plain : public EnergyModel {
 public:
  explicit Plain(EnergyModel& model) : model_(model) {}
  std::string kind_name() const override { return "plain"; }
  StateSpace space() const override { return model_.space(); }
  torch::Tensor energy(const torch::Tensor& x) override { return model_.energy(x); }

 private:
  EnergyModel& model_;
};

ChainState after_steps(EnergyModel& model, const std::string& name, const SamplerOptions& options,
                       int64_t chains, int steps, int64_t* evaluations) {
  const auto sampler = make_sampler(name, options, model);
  const torch::Tensor ids = torch::arange(chains);
  ChainState state = sampler->init(model, random_states(model.space(), ids, 4, torch::kCPU), ids);
  StepParams params = sampler->params(9, torch::kCPU);
  for (int t = 0; t < steps; ++t) *evaluations = sampler->step(model, state, params).evaluations;
  return state;
}

// Both sources of energies lead to the same draws, in batches whose size divides the number of
// candidates or not. The cached energies are those of the states.
TEST(BlockStates, LatticeAndModelCallsAgree) {
  for (const int categories : {2, 5}) {
    const auto model = TinyLattice{37, categories, 1.0}.model();
    Plain plain(*model);
    const std::vector<std::pair<std::string, SamplerOptions>> samplers = {
        {"block-gibbs", {.block = 4}}, {"hamming-ball", {.radius = 2, .block = 9}}};
    for (const auto& [name, options] : samplers) {
      for (const int64_t chains : {1, 100}) {
        SCOPED_TRACE(fmt::format("{} K {} B {}", name, categories, chains));
        int64_t few = 0, many = 0;
        const ChainState a = after_steps(*model, name, options, chains, 12, &few);
        const ChainState b = after_steps(plain, name, options, chains, 12, &many);
        EXPECT_TRUE(torch::equal(a.x, b.x));
        EXPECT_TRUE(torch::equal(a.statistics.hops_sum, b.statistics.hops_sum));
        EXPECT_GT(a.statistics.hops_sum.sum().item<int64_t>(), 0);
        EXPECT_EQ(few, 1);
        const double states =
            name == "block-gibbs" ? std::pow(categories, 4) : ball_states(9, 2, categories);
        EXPECT_EQ(many, static_cast<int64_t>(states) - 1);
        Evaluation again;
        model->evaluate_energy(a.x, again);
        EXPECT_LT((again.energy - a.current.energy).abs().max().item<double>(), 1e-11);
        EXPECT_TRUE(torch::allclose(b.current.energy, again.energy, 0, 1e-11));
      }
    }
  }
}

TEST(BlockStates, SweepsKeepTheEnergy) {
  const auto model = TinyLattice{37, 5, 1.0}.model();
  int64_t evaluations = 0;
  const ChainState state =
      after_steps(*model, "gibbs", {.scan = Scan::kChromatic}, 20, 30, &evaluations);
  EXPECT_EQ(evaluations, 1);
  Evaluation again;
  model->evaluate_energy(state.x, again);
  EXPECT_LT((again.energy - state.current.energy).abs().max().item<double>(), 1e-11);
}

// The model's cache moves with the chosen candidate: annealing recombines energies from it.
TEST(BlockStates, TheCacheFollows) {
  const auto model = TinyLattice{20, 3, 1.0}.model();
  const Factorised start = Factorised::uniform(model->space(), torch::kCPU);
  TemperedModel annealed(*model, &start, torch::kCPU);
  for (const char* name : {"block-gibbs", "hamming-ball"}) {
    SCOPED_TRACE(name);
    annealed.set_beta(0.7);
    int64_t evaluations = 0;
    const ChainState state = after_steps(annealed, name, {.block = 4}, 300, 8, &evaluations);
    Evaluation again;
    annealed.evaluate_energy(state.x, again);
    EXPECT_TRUE(torch::allclose(again.energy, state.current.energy, 0, 1e-11));
    ASSERT_EQ(again.cache.size(), state.current.cache.size());
    EXPECT_GT(again.cache.size(), 0u);
    for (size_t i = 0; i < again.cache.size(); ++i) {
      EXPECT_TRUE(torch::allclose(again.cache[i], state.current.cache[i], 0, 1e-11));
    }
  }
}

std::string refusal(const std::string& name, const SamplerOptions& options, EnergyModel& model) {
  try {
    make_sampler(name, options, model);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(BlockOptions, WhatDoesNotFitIsRefusedWithWhatWould) {
  const auto binary = TinyLattice{100, 2, 1.0}.model();
  const auto five = TinyLattice{100, 5, 1.0}.model();
  const auto tiny = TinyLattice{3, 2, 1.0}.model();
  EXPECT_EQ(refusal("block-gibbs", {.block = 10}, *binary), "");
  EXPECT_NE(refusal("block-gibbs", {.block = 11}, *binary).find("block must be at most 10"),
            std::string::npos);
  EXPECT_NE(refusal("block-gibbs", {.block = 5}, *five).find("block must be at most 4"),
            std::string::npos);
  EXPECT_NE(refusal("block-gibbs", {.block = 4}, *tiny).find("the model has 3"), std::string::npos);
  EXPECT_NE(refusal("block-gibbs", {.block = 1.5}, *binary), "");
  EXPECT_EQ(refusal("hamming-ball", {}, *tiny), "");  // the default block is clipped
  EXPECT_EQ(refusal("hamming-ball", {.radius = 12, .block = 12}, *binary), "");
  EXPECT_NE(refusal("hamming-ball", {.radius = 13, .block = 13}, *binary), "");
  EXPECT_EQ(refusal("hamming-ball", {.radius = 2, .block = 90}, *binary), "");
  EXPECT_NE(
      refusal("hamming-ball", {.radius = 2, .block = 91}, *binary).find("block must be at most 90"),
      std::string::npos);
  EXPECT_NE(refusal("hamming-ball", {.radius = 4}, *tiny), "");
}

}  // namespace
}  // namespace isinglass::block_gibbs_test
