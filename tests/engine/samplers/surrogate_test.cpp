// Surrogate transitions and moves by the base against enumeration: the base's sweeps as matrices by
// plain loops, the network's energies as a table, and the acceptance min(1, exp(β(g(x) − g(y)))) at
// several β of the path from the base to the model.
#include "engine/samplers/surrogate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/annealing/factorised.h"
#include "engine/annealing/tempered_model.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "io/error.h"
#include "models/combined/residual.h"
#include "models/lattice/categorical.h"
#include "models/lattice/ising.h"
#include "tests/engine/invariance.h"
#include "tests/engine/samplers/small_rbm.h"
#include "tests/engine/transitions.h"
#include "tests/support/scratch.h"

namespace isinglass::surrogate_test {
namespace {

constexpr double kBound = 1.5;

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(a.size(), 0.0));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < a.size(); ++k) {
      for (size_t j = 0; j < a.size(); ++j) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

// A base with its energies and the transitions of one sweep, or of a sweep forwards and back.
struct Case {
  std::string name;
  std::shared_ptr<EnergyModel> base;
  Target below;
  // Returns the transitions of k sweeps.
  std::function<Matrix(int64_t)> sweeps;
};

Matrix power(const Matrix& one, int64_t k) {
  Matrix all = one;
  for (int64_t i = 1; i < k; ++i) all = product(all, one);
  return all;
}

Case rbm_case(const std::string& name, const SmallRbm& rbm) {
  const Target below = rbm.target();
  const Matrix sweep = rbm.sweep(below);
  return {name, rbm.model, below, [sweep](int64_t k) { return power(sweep, k); }};
}

// Sites without edges: a sweep is an exact draw.
Case categorical_case() {
  torch::manual_seed(3);
  const torch::Tensor theta = torch::randn({2, 3});
  Target below{reference::StateTable(2, 3), {}, {}};
  for (const reference::State& x : below.table.states) {
    below.energy.push_back(theta[0][x[0]].item<double>() + theta[1][x[1]].item<double>());
  }
  const Matrix draw(below.energy.size(), below.probabilities());
  return {"categorical", std::make_shared<CategoricalModel>(theta), below,
          [draw](int64_t k) { return power(draw, k); }};
}

// Two colours, sites 0 and 2 and then site 1: k sweeps forwards, then k backwards.
Case ising_case() {
  const torch::Tensor edges = torch::tensor({0, 1, 1, 2}, torch::kInt64).view({2, 2});
  const torch::Tensor coupling = torch::tensor({0.8, -0.6}, torch::kFloat64);
  const torch::Tensor field = torch::tensor({0.3, -0.5, 0.2}, torch::kFloat64);
  const auto base = std::make_shared<IsingModel>(edges, coupling, field);
  Target below{reference::StateTable(3, 2), {}, {}};
  for (const reference::State& x : below.table.states) {
    const int s[] = {2 * x[0] - 1, 2 * x[1] - 1, 2 * x[2] - 1};
    below.energy.push_back(-0.8 * s[0] * s[1] + 0.6 * s[1] * s[2] - 0.3 * s[0] + 0.5 * s[1] -
                           0.2 * s[2]);
  }
  const Matrix first =
      product(reference::gibbs_transitions(below, 0), reference::gibbs_transitions(below, 2));
  const Matrix second = reference::gibbs_transitions(below, 1);
  return {"ising", base, below, [=](int64_t k) {
            return product(power(product(first, second), k), power(product(second, first), k));
          }};
}

std::vector<Case> cases() {
  return {rbm_case("rbm", SmallRbm(3, 2, 4, false)),
          rbm_case("categorical rbm", SmallRbm(2, 3, 4, true)), categorical_case(), ising_case()};
}

struct Residual {
  std::shared_ptr<ResidualModel> model;
  std::vector<double> g;  // of every state
};

// A network of four units: f(x) = 2 Σ_j v_j tanh(w_j · x + b_j).
class SmallNetwork : public EnergyModel {
 public:
  explicit SmallNetwork(const StateSpace& space) : space_(space) {
    torch::manual_seed(9);
    const int64_t inputs = space.sites * (space.one_hot() ? space.categories : 1);
    w_ = register_parameter("w", 1.5 * torch::randn({inputs, 4}));
    b_ = register_parameter("b", torch::randn({4}));
    v_ = register_parameter("v", torch::randn({4}));
  }
  std::string kind_name() const override { return "small-network"; }
  StateSpace space() const override { return space_; }
  torch::Tensor energy(const torch::Tensor& x) override {
    return 2 * torch::tanh(relaxed(x).flatten(1).matmul(w_) + b_).matmul(v_);
  }

 private:
  StateSpace space_;
  torch::Tensor w_, b_, v_;
};

Residual residual_on(const Case& c, double bound = kBound) {
  const auto network = std::make_shared<SmallNetwork>(c.base->space());
  const torch::Tensor f = network->energy(states_tensor(c.below, 1)).detach();
  Residual made{std::make_shared<ResidualModel>(c.base, network, ResidualOptions{.bound = bound}),
                {}};
  for (int64_t s = 0; s < f.size(0); ++s) {
    made.g.push_back(bound * std::tanh(f[s].item<double>() / bound));
  }
  const auto [least, most] = std::minmax_element(made.g.begin(), made.g.end());
  EXPECT_GT(*most - *least, 0.5) << "the network is too flat to test with";
  return made;
}

// π_β ∝ exp(−U_base − β g)
Target target_at(const Case& c, const std::vector<double>& g, double beta) {
  Target target{c.below.table, {}, {}};
  for (size_t s = 0; s < g.size(); ++s) target.energy.push_back(c.below.energy[s] + beta * g[s]);
  return target;
}

Matrix tested(const Matrix& proposal, const std::vector<double>& g, double beta) {
  Matrix t = proposal;
  for (size_t s = 0; s < t.size(); ++s) {
    double out = 0;
    for (size_t e = 0; e < t.size(); ++e) {
      if (e == s) continue;
      t[s][e] *= std::min(1.0, std::exp(beta * (g[s] - g[e])));
      out += t[s][e];
    }
    t[s][s] = 1 - out;
  }
  return t;
}

TEST(SurrogateExactness, RealStepMatchesEnumeration) {
  for (const Case& c : cases()) {
    const Residual made = residual_on(c);
    EXPECT_LT(reference::balance_error(c.sweeps(1), c.below.probabilities()), 1e-10);
    const Factorised start = Factorised::base(*c.base, 0);
    TemperedModel tempered(*made.model, &start, torch::kCPU);
    for (const std::optional<double> beta :
         {std::optional<double>(), std::optional(0.0), std::optional(0.4), std::optional(1.0)}) {
      for (const int64_t sweeps : {1, 3}) {
        SCOPED_TRACE(fmt::format("{} beta {} sweeps {}", c.name, beta.value_or(-1), sweeps));
        const double b = beta.value_or(1);
        const Target target = target_at(c, made.g, b);
        const Matrix exact = tested(c.sweeps(sweeps), made.g, b);
        EXPECT_LT(reference::balance_error(exact, target.probabilities()), 1e-10);
        if (beta) tempered.set_beta(*beta);
        EnergyModel& model = beta ? static_cast<EnergyModel&>(tempered) : *made.model;
        const Frequencies real =
            real_step(model, target, "surrogate", {.sweeps = static_cast<double>(sweeps)});
        EXPECT_LT(worst_deviation(real.share, exact), 7);
        EXPECT_GT(real.accepted, 0);
        if (b > 0) {
          EXPECT_LT(real.acceptance, 1);
          // A move without the test, and one with the wrong number of sweeps, are seen.
          EXPECT_GT(worst_deviation(real.share, c.sweeps(sweeps)), 7);
        } else {
          EXPECT_EQ(real.acceptance, 1);
        }
      }
    }
  }
}

// The base is a target without sweeps, which moves by steps of pafs.
TEST(SurrogateExactness, ABaseWithoutSweepsLeavesTheTargetInvariant) {
  const TinyTarget tiny{3, 2, 1.0};
  const Case c{"tiny", std::make_shared<TinyModel>(tiny), tiny.enumerate(), {}};
  const Residual made = residual_on(c);
  const Target target = target_at(c, made.g, 1);
  for (const int64_t sweeps : {1, 2}) {
    const auto sampler =
        make_sampler("surrogate", {.sweeps = static_cast<double>(sweeps)}, *made.model);
    expect_invariant(*sampler, *made.model, c.below.table, target.probabilities());
  }
}

// Every sampler with moves of the base before its steps, and its reversal, at every β.
TEST(BaseMoves, LeaveTheTargetInvariant) {
  for (const Case& c : cases()) {
    const Residual made = residual_on(c);
    const Factorised start = Factorised::base(*c.base, 0);
    TemperedModel tempered(*made.model, &start, torch::kCPU);
    tempered.set_beta(0.5);
    for (const bool at_half : {false, true}) {
      const Target target = target_at(c, made.g, at_half ? 0.5 : 1);
      EnergyModel& model = at_half ? static_cast<EnergyModel&>(tempered) : *made.model;
      for (const std::string name : {"pafs", "gwg", "lb", "gibbs", "rwm", "lbj"}) {
        if (at_half && (name == "gwg" || name == "rwm" || name == "lbj")) continue;  // like pafs
        SCOPED_TRACE(fmt::format("{} on {}{}", name, c.name, at_half ? " at 0.5" : ""));
        SamplerOptions options{.base_moves = 2};
        if (find_sampler(name).option("radius")) options.radius = 1;
        const auto sampler = make_sampler(name, options, model);
        EXPECT_EQ(sampler->base_moves(), 2);
        expect_invariant(*sampler, model, c.below.table, target.probabilities());
        const auto reversed = sampler->reversed(0);
        ASSERT_NE(reversed, nullptr);
        expect_invariant(*reversed, model, c.below.table, target.probabilities());
      }
    }
  }
}

// Evaluations of the chains are those of a new evaluation; the moves have counts of their own, and
// the sampler's counts are of its own steps.
TEST(BaseMoves, KeepEvaluationsAndCounts) {
  for (const Case& c : cases()) {
    const Residual made = residual_on(c);
    const torch::Tensor ids = torch::arange(200);
    const torch::Tensor x = random_states(made.model->space(), ids, 4, torch::kCPU);
    for (const char* name : {"pafs", "lb", "gibbs"}) {
      SCOPED_TRACE(fmt::format("{} on {}", name, c.name));
      SamplerOptions options{.base_moves = 1};
      if (find_sampler(name).option("radius")) options.radius = 1;
      const auto sampler = make_sampler(name, options, *made.model);
      ChainState state = sampler->init(*made.model, x, ids);
      StepParams params = sampler->params(5, torch::kCPU);
      torch::Tensor hops = torch::zeros({200}, torch::kInt64);
      for (int t = 0; t < 10; ++t) {
        sampler->step(*made.model, state, params);
        hops += state.statistics.hops;
        Evaluation again;
        if (sampler->needs() == Needs::kDifferences) {
          evaluate_differences(*made.model, state.x, again);
          EXPECT_TRUE(torch::allclose(state.current.differences, again.differences, 1e-4, 1e-4));
        } else if (sampler->needs() == Needs::kGradient) {
          made.model->evaluate(state.x, again);
          EXPECT_TRUE(torch::allclose(state.current.gradient, again.gradient, 1e-4, 1e-4));
        } else {
          made.model->evaluate_energy(state.x, again);
        }
        EXPECT_TRUE(torch::allclose(state.current.energy, again.energy, 1e-5, 1e-5));
        EXPECT_EQ(params.step(), t + 1);
      }
      EXPECT_TRUE(torch::equal(hops, state.statistics.hops_sum));
      ASSERT_TRUE(state.statistics.base_moves.has_value());
      const ops::StepBuffers& moves = *state.statistics.base_moves;
      EXPECT_GT(moves.hops_sum.sum().item<int64_t>(), 0);
      const double acceptance = moves.acceptance_sum.mean().item<double>() / 10;
      EXPECT_GT(acceptance, 0.05);
      EXPECT_LE(acceptance, 1);
      state.statistics.reset();
      EXPECT_EQ(moves.hops_sum.sum().item<int64_t>(), 0);
    }
  }
}

// Two moves, and a move and the sampler beside it, draw different random numbers.
TEST(BaseMoves, DrawWithKeysOfTheirOwn) {
  const Case c = rbm_case("rbm", SmallRbm(4, 2, 3, false));
  const Residual made = residual_on(c);
  const torch::Tensor ids = torch::arange(500);
  const torch::Tensor x = random_states(made.model->space(), ids, 4, torch::kCPU);
  const auto ends = [&](int64_t moves, bool sweep) {
    const auto sampler = sweep ? make_sampler("gibbs", {.scan = Scan::kChromatic}, *c.base)
                               : make_sampler("surrogate", {}, *made.model);
    EnergyModel& model = sweep ? *c.base : *made.model;
    ChainState state = sampler->init(model, x, ids);
    StepParams params = sampler->params(5, torch::kCPU);
    for (int64_t t = 0; t < moves; ++t) sampler->step(model, state, params);
    return state.x;
  };
  EXPECT_FALSE(torch::equal(ends(1, true), ends(1, false)));
  EXPECT_TRUE(torch::equal(ends(3, false), ends(3, false)));
}

TEST(BaseMoves, AreTheDefaultOfResidualModelsOnly) {
  const Case c = rbm_case("rbm", SmallRbm(3, 2, 4, false));
  const Residual made = residual_on(c);
  EXPECT_EQ(make_sampler("pafs", {.radius = 1}, *made.model)->base_moves(), 1);
  EXPECT_EQ(make_sampler("pafs", {.radius = 1, .base_moves = 0}, *made.model)->base_moves(), 0);
  EXPECT_EQ(make_sampler("surrogate", {}, *made.model)->base_moves(), 0);
  const auto plain = make_sampler("pafs", {.radius = 1}, *c.base);
  EXPECT_EQ(plain->base_moves(), 0);
  for (const auto& [name, value] : plain->settings()) EXPECT_NE(name, "base-moves");
  EXPECT_ERROR(make_sampler("pafs", {.base_moves = 1}, *c.base),
               "base-moves is 1, but model rbm has no base");
  EXPECT_ERROR(make_sampler("surrogate", {}, *c.base), "sampler surrogate does not fit model rbm");
  EXPECT_ERROR(make_sampler("surrogate", {.base_moves = 1}, *made.model), "does not read");
  EXPECT_ERROR(make_sampler("surrogate", {.sweeps = 65}, *made.model), "sweeps is 65");
  // Cooling has no base on its way.
  TemperedModel cooled(*made.model, nullptr, torch::kCPU);
  const auto moves = make_sampler("pafs", {.radius = 1}, *made.model);
  EXPECT_ERROR(moves->init(cooled, states_tensor(c.below, 1), torch::arange(8)),
               "base-moves above 0 and surrogate propose by the base");
}

}  // namespace
}  // namespace isinglass::surrogate_test
