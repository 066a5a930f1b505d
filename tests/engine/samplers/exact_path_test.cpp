// lb and pas against enumeration, on binary and categorical targets whose differences come from the
// fallback, and on permutations and lattices that compute their own.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "models/density/parity.h"
#include "models/density/permutation.h"
#include "models/lattice/ising.h"
#include "tests/engine/transitions.h"
#include "tests/reference/informed_moves.h"
#include "tests/support/scratch.h"

namespace isinglass::exact_path_test {
namespace {

using reference::G;
using reference::Graph;
using reference::informed_transitions;
using reference::InformedFault;

// A target in two forms: as enumerated numbers and as a model.
struct Pair {
  Graph graph;
  std::shared_ptr<EnergyModel> model;
};

Pair tiny_pair(int sites, int categories, double strength) {
  const TinyTarget tiny{sites, categories, strength};
  Target target = tiny.enumerate();
  return {reference::join(target.table.states, target.energy, 1),
          std::make_shared<TinyModel>(tiny)};
}

Pair permutation_pair(int size, double strength) {
  Matrix w(size, std::vector<double>(size));
  torch::Tensor tensor = torch::empty({size, size}, torch::kFloat64);
  for (int i = 0; i < size; ++i) {
    for (int k = 0; k < size; ++k) {
      w[i][k] = strength * std::sin(2.3 * i + 1.7 * k + 0.9 * i * k + 0.4);
      tensor[i][k] = w[i][k];
    }
  }
  return {reference::permutation_graph(w), std::make_shared<PermutationModel>(tensor)};
}

Pair ising_pair(double strength) {
  const double field[] = {0.7, -0.4, 0.2}, coupling[] = {0.9, -0.6};
  Graph graph = tiny_pair(3, 2, 1).graph;
  for (size_t s = 0; s < graph.states.size(); ++s) {
    double z[3], u = 0;
    for (int i = 0; i < 3; ++i) z[i] = 2.0 * graph.states[s][i] - 1;
    for (int i = 0; i < 3; ++i) u -= strength * field[i] * z[i];
    graph.energy[s] = u - strength * (coupling[0] * z[0] * z[1] + coupling[1] * z[1] * z[2]);
  }
  const torch::Tensor edges = torch::tensor({0, 1, 1, 2}, torch::kInt64).view({2, 2});
  return {graph, std::make_shared<IsingModel>(
                     edges, strength * torch::tensor({0.9, -0.6}, torch::kFloat64),
                     strength * torch::tensor({0.7, -0.4, 0.2}, torch::kFloat64))};
}

Pair pair_of(const std::string& kind, double strength) {
  if (kind == "binary") return tiny_pair(3, 2, strength);
  if (kind == "ternary") return tiny_pair(2, 3, strength);
  return kind == "ising" ? ising_pair(strength) : permutation_pair(4, strength);
}

torch::Tensor states_of(const Pair& pair, int64_t repeats) {
  std::vector<int> flat;
  for (const auto& state : pair.graph.states) flat.insert(flat.end(), state.begin(), state.end());
  return torch::tensor(flat)
      .view({static_cast<int64_t>(pair.graph.states.size()), -1})
      .to(pair.model->space().dtype())
      .repeat_interleave(repeats, 0);
}

// Indices of states in the graph, int64 [B]: by their numbers in base 4.
torch::Tensor graph_index(const Pair& pair, const torch::Tensor& x) {
  const auto number = [](const torch::Tensor& states) {
    const torch::Tensor powers = torch::pow(4, torch::arange(states.size(1)));
    return (states.to(torch::kInt64) * powers).sum(1);
  };
  torch::Tensor index = torch::full({256}, -1, torch::kInt64);
  const torch::Tensor known = number(states_of(pair, 1));
  index.index_put_({known}, torch::arange(known.size(0)));
  return index.index_select(0, number(x));
}

Frequencies one_step(const Pair& pair, const std::string& name, const SamplerOptions& options) {
  const auto n = static_cast<int64_t>(pair.graph.states.size());
  const auto sampler = make_sampler(name, options, *pair.model);
  const torch::Tensor x = states_of(pair, kDrawsPerState);
  ChainState state = sampler->init(*pair.model, x, torch::arange(x.size(0)));
  StepParams params = sampler->params(20240501, torch::kCPU);
  sampler->step(*pair.model, state, params);
  const torch::Tensor pairs = graph_index(pair, x) * n + graph_index(pair, state.x);
  const torch::Tensor counts =
      torch::bincount(pairs, {}, n * n).to(torch::kFloat64) / kDrawsPerState;
  Frequencies result{Matrix(n, std::vector<double>(n)), 0, 0};
  for (int64_t s = 0; s < n; ++s) {
    for (int64_t e = 0; e < n; ++e) result.share[s][e] = counts[s * n + e].item<double>();
  }
  result.accepted = (state.statistics.hops > 0).to(torch::kFloat64).mean().item<double>();
  result.acceptance = state.statistics.acceptance.mean().item<double>();
  return result;
}

struct Case {
  std::string sampler, kind;
  double strength, radius;
  int balancing;

  SamplerOptions options() const {
    SamplerOptions options{.balancing = static_cast<Balancing>(balancing)};
    if (sampler == "pas") options.radius = radius;
    return options;
  }
};

class DifferencePathExactness : public testing::TestWithParam<Case> {};

TEST_P(DifferencePathExactness, RealStepMatchesEnumeration) {
  const Case& c = GetParam();
  const Pair pair = pair_of(c.kind, c.strength);
  const std::vector<double> pi = pair.graph.probabilities();
  const Matrix exact = informed_transitions(pair.graph, c.radius, static_cast<G>(c.balancing));
  EXPECT_LT(reference::balance_error(exact, pi), 1e-10);
  EXPECT_LT(reference::stationarity_error(exact, pi), 1e-10);
  if (c.radius >= 2) {
    EXPECT_EQ(reference::communicating_classes(exact), 1);
  }
  const Frequencies real = one_step(pair, c.sampler, c.options());
  EXPECT_LT(worst_deviation(real.share, exact), 7);
  EXPECT_GT(real.accepted, 0);
  EXPECT_LT(real.acceptance, 1);
}

// log q as it enters the Metropolis test: U(x) − U(y) + log q(reverse) − log q(forward) = log
// Z_g(x) − log Z_g(y), up to the rounding of the differences to float32.
TEST_P(DifferencePathExactness, TheRatioIsThatOfTheNormalisers) {
  const Case& c = GetParam();
  const Pair pair = pair_of(c.kind, c.strength);
  const auto sampler = make_sampler(c.sampler, c.options(), *pair.model);
  const torch::Tensor x = states_of(pair, 20);
  ChainState state = sampler->init(*pair.model, x, torch::arange(x.size(0)));
  StepParams params = sampler->params(7, torch::kCPU);
  const torch::Tensor energy = state.current.energy.clone(), from = graph_index(pair, x);
  sampler->step(*pair.model, state, params);
  const Workspace& workspace = state.workspace;
  const bool local = !workspace.log_forward.defined();  // such a step keeps no log q
  const torch::Tensor to = graph_index(pair, local ? state.x : workspace.y);
  for (int64_t b = 0; b < x.size(0); ++b) {
    const auto log_total = [&](const torch::Tensor& index) {
      return std::log(reference::informed_total(
          pair.graph, static_cast<size_t>(index[b].item<int64_t>()), static_cast<G>(c.balancing)));
    };
    const double expected = log_total(from) - log_total(to);
    if (!local) {
      const torch::Tensor ratio = energy[b] - workspace.proposed.energy[b] +
                                  workspace.log_backward[b] - workspace.log_forward[b];
      EXPECT_NEAR(ratio.item<double>(), expected, 1e-5);
    } else if (state.statistics.hops[b].item<int64_t>() > 0) {
      const double acceptance = state.statistics.acceptance[b].item<double>();
      EXPECT_NEAR(acceptance, std::min(1.0, std::exp(expected)), 1e-5);
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* kind : {"binary", "ternary", "permutation"}) {
    for (const double strength : {0.5, 3.0}) {
      for (int g = 0; g < 4; ++g) {
        all.push_back({"lb", kind, strength, 1, g});
        for (const double radius : {1.0, 2.0}) all.push_back({"pas", kind, strength, radius, g});
      }
    }
    all.push_back({"pas", kind, 1, 1.75, 0});  // real-valued R
  }
  all.push_back({"lb", "ising", 1, 1, 0});
  all.push_back({"pas", "ising", 1, 5, 1});
  return all;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return fmt::format("{}_{}_strength{}_R{}_g{}", c.sampler, c.kind,
                     static_cast<int>(10 * c.strength), static_cast<int>(100 * c.radius),
                     c.balancing);
}

INSTANTIATE_TEST_SUITE_P(All, DifferencePathExactness, testing::ValuesIn(cases()), case_name);

// The checks above have the power to see each of these mistakes.
TEST(BrokenDifferencePaths, AreDetected) {
  for (const std::string kind : {"binary", "ternary", "permutation"}) {
    const Pair pair = pair_of(kind, 2);
    const Frequencies lb = one_step(pair, "lb", {});
    const Frequencies pas = one_step(pair, "pas", {.radius = 2});
    const Frequencies barker =
        one_step(pair, "pas", {.radius = 2, .balancing = Balancing::kBarker});
    for (const InformedFault fault : {InformedFault::kInverse, InformedFault::kNoReverse,
                                      InformedFault::kAlways, InformedFault::kFrozen}) {
      for (const double radius : {1.0, 2.0}) {
        const bool frozen = fault == InformedFault::kFrozen;  // sqrt weights do not depend on x
        if (frozen && radius == 1) continue;
        SCOPED_TRACE(fmt::format("{} R {} fault {}", kind, radius, static_cast<int>(fault)));
        const Matrix broken =
            informed_transitions(pair.graph, radius, frozen ? G::kBarker : G::kSqrt, fault);
        EXPECT_GT(reference::stationarity_error(broken, pair.graph.probabilities()), 1e-3);
        const Frequencies& real = frozen ? barker : radius == 1 ? lb : pas;
        EXPECT_GT(worst_deviation(real.share, broken), 7);
      }
    }
  }
}

// Cached energy and differences equal recomputed ones; hops are recounted; the evaluations that
// were made are counted; chains with shorter paths wait without moving.
TEST(DifferencePathStates, StayConsistent) {
  for (const std::string kind : {"binary", "ternary", "ising", "permutation"}) {
    for (const std::string name : {"lb", "pas"}) {
      SCOPED_TRACE(kind + " " + name);
      const Pair pair = pair_of(kind, 1);
      const auto sampler = make_sampler(name, {}, *pair.model);
      const torch::Tensor ids = torch::arange(50);
      ChainState state =
          sampler->init(*pair.model, random_states(pair.model->space(), ids, 3, torch::kCPU), ids);
      StepParams params = sampler->params(5, torch::kCPU);
      for (int t = 0; t < 20; ++t) {
        const torch::Tensor before = state.x.clone();
        const StepInfo info = sampler->step(*pair.model, state, params);
        Evaluation again;
        const int64_t calls = evaluate_differences(*pair.model, state.x, again);
        // Local steps sum the float64 differences of their moves: 20 steps of up to 9.
        EXPECT_TRUE(torch::allclose(again.energy, state.current.energy, 1e-12, 1e-12));
        EXPECT_TRUE(torch::equal(again.differences, state.current.differences));
        EXPECT_TRUE(torch::equal((before != state.x).sum(1), state.statistics.hops));
        EXPECT_EQ(state.x.scalar_type(), pair.model->space().dtype());
        EXPECT_EQ(info.evaluations % calls, 0);
        EXPECT_LE(info.evaluations / calls, name == "lb" ? 1 : 9);  // 2R − 1
        check_states(pair.model->space(), state.x, "the chains");
      }
      EXPECT_GT(state.statistics.hops_sum.sum().item<int64_t>(), 0);
    }
  }
}

// A chain's moves do not depend on the others, whose paths may be longer.
TEST(DifferencePathStates, AChainAloneIsItsRowOfABatch) {
  const Pair pair = permutation_pair(7, 1);
  const auto sampler = make_sampler("pas", {.radius = 4}, *pair.model);
  const auto run_chains = [&](const torch::Tensor& ids) {
    ChainState state =
        sampler->init(*pair.model, random_states(pair.model->space(), ids, 3, torch::kCPU), ids);
    StepParams params = sampler->params(5, torch::kCPU);
    for (int t = 0; t < 10; ++t) sampler->step(*pair.model, state, params);
    return state.x;
  };
  const torch::Tensor batch = run_chains(torch::arange(12));
  for (const int64_t c : {0, 5, 11}) {
    EXPECT_TRUE(torch::equal(run_chains(torch::arange(c, c + 1)), batch.slice(0, c, c + 1)));
  }
}

// A model that counts its calls.
TEST(DifferencePathEvaluations, AreCountedAsTheyAreMade) {
  TinyModel model(TinyTarget{4, 3, 1});
  const auto sampler = make_sampler("pas", {.radius = 3}, model);
  const torch::Tensor ids = torch::arange(30);
  ChainState state = sampler->init(model, random_states(model.space(), ids, 3, torch::kCPU), ids);
  StepParams params = sampler->params(5, torch::kCPU);
  model.calls = 0;
  const StepInfo info = sampler->step(model, state, params);
  // Each evaluation is a call for the states and one for a batch of their 8 neighbours.
  EXPECT_EQ(info.evaluations, model.calls / 2 * 9);
  EXPECT_GT(info.evaluations, 9);
}

// One neighbour is far more probable than all others together, and the reverse move is improbable:
// nothing overflows.
TEST(DifferencePathExtremes, StayFinite) {
  for (const double scale : {80.0, 1000.0, 1e30}) {
    for (int g = 0; g < 4; ++g) {
      const Pair pair = pair_of("ising", scale);
      for (const std::string name : {"lb", "pas"}) {
        const auto sampler =
            make_sampler(name, {.balancing = static_cast<Balancing>(g)}, *pair.model);
        const torch::Tensor x = states_of(pair, 10);
        ChainState state = sampler->init(*pair.model, x, torch::arange(x.size(0)));
        StepParams params = sampler->params(5, torch::kCPU);
        for (int t = 0; t < 20; ++t) {
          sampler->step(*pair.model, state, params);
          EXPECT_TRUE(torch::isfinite(state.statistics.acceptance).all().item<bool>());
          EXPECT_TRUE(torch::isfinite(state.current.energy).all().item<bool>());
        }
        EXPECT_EQ(state.statistics.non_finite.sum().item<int64_t>(), 0);
      }
    }
  }
}

TEST(SamplersOfModels, GradientSamplersOnParityAreRefusedWithThoseThatWork) {
  const ParityModel parity(torch::tensor(1.5), 6);
  for (const SamplerEntry& entry : sampler_registry()) {
    if (!entry.gradient) continue;
    EXPECT_ERROR(make_sampler(entry.name, {}, parity),
                 "sampler " + entry.name + " does not fit model parity; these do: ");
    EXPECT_ERROR(make_sampler(entry.name, {}, parity), "lb, pas");
  }
  const PermutationModel permutation(torch::zeros({4, 4}));
  EXPECT_ERROR(make_sampler("gibbs", {}, permutation),
               "sampler gibbs does not fit model permutation; these do: lb, pas");
}

// On parity every flip has the same weight: lb walks uniformly, R even or odd.
TEST(SamplersOfModels, ParityIsSampled) {
  ParityModel parity(torch::tensor(1.5), 6);
  for (const std::string name : {"lb", "pas"}) {
    SamplerOptions options;
    if (name == "pas") options.radius = 2;
    const auto sampler = make_sampler(name, options, parity);
    const torch::Tensor ids = torch::arange(4000);
    ChainState state =
        sampler->init(parity, random_states(parity.space(), ids, 3, torch::kCPU), ids);
    StepParams params = sampler->params(5, torch::kCPU);
    for (int t = 0; t < 40; ++t) sampler->step(parity, state, params);
    const double odd = state.x.sum(1).remainder(2).to(torch::kFloat64).mean().item<double>();
    const double expected = 1 / (1 + std::exp(1.5));
    if (name == "pas") {
      EXPECT_NEAR(odd, expected, 5 * std::sqrt(expected * (1 - expected) / 4000));
    } else {
      // Z_g(x) is the same for all states of a parity: every other state is accepted or not.
      EXPECT_GT(state.statistics.hops_sum.min().item<int64_t>(), 0);
    }
  }
}

// All 24 permutations of 4 start equally often.
TEST(RandomStates, PermutationsAreUniform) {
  const Pair pair = permutation_pair(4, 1);
  const int64_t chains = 240000;
  const torch::Tensor x =
      random_states(pair.model->space(), torch::arange(chains), 11, torch::kCPU);
  const torch::Tensor count = torch::bincount(graph_index(pair, x), {}, 24);
  const double expected = chains / 24.0;
  EXPECT_EQ(count.size(0), 24);
  EXPECT_LT((count - expected).abs().max().item<double>(), 5 * std::sqrt(expected));
}

}  // namespace
}  // namespace isinglass::exact_path_test
