// The any-scale samplers' real step against their formulas: transition frequencies against
// enumeration (and quadrature over u), log q of what was drawn against the reference, a quadratic
// target that is never rejected, and broken variants that these checks detect.
#include "engine/samplers/any_scale.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/error.h"
#include "kernels/ops/random.h"
#include "tests/engine/transitions.h"
#include "tests/reference/any_scale.h"

namespace isinglass::any_scale_test {
namespace {

using reference::AnyScaleFault;
using reference::AnyScaleRule;
using reference::OrderedModel;
using reference::OrderedTarget;
using reference::State;
using reference::Vector;

torch::Tensor tensor_of(const Matrix& m) {
  torch::Tensor t = torch::empty(
      {static_cast<int64_t>(m.size()), static_cast<int64_t>(m[0].size())}, torch::kFloat64);
  for (size_t i = 0; i < m.size(); ++i) {
    for (size_t j = 0; j < m[i].size(); ++j) t[i][j] = m[i][j];
  }
  return t;
}

torch::Tensor tensor_of(const Vector& v) {
  return torch::tensor(v, torch::kFloat64);
}

State row_of(const torch::Tensor& x, int64_t b) {
  State state;
  for (int64_t i = 0; i < x.size(1); ++i) state.push_back(x[b][i].item<int>());
  return state;
}

Vector numbers_of(const torch::Tensor& row) {
  Vector v;
  for (int64_t i = 0; i < row.size(0); ++i) v.push_back(row[i].item<double>());
  return v;
}

// Makes the sampler of a rule, with u if the rule has A.
AnyScaleSampler sampler_of(const AnyScaleRule& rule) {
  AnyScaleOptions options{.sigma = rule.sigma, .alpha = rule.alpha, .search = false};
  if (!rule.a.empty()) options.rule = DiagonalRule::kShift;
  if (rule.a.empty() && rule.d[0] > 0) options.diagonal_curvature = -tensor_of(rule.d);
  return AnyScaleSampler(options);
}

ChainState state_of(const AnyScaleSampler& sampler, const AnyScaleRule& rule, EnergyModel& model,
                    const torch::Tensor& x) {
  ChainState state = sampler.init(model, x, torch::arange(x.size(0)));
  if (!rule.a.empty()) {
    sampler.restore(state, {{"curvature", tensor_of(rule.w)}, {"diagonal", tensor_of(rule.d)}});
  }
  return state;
}

struct RealStep {
  Matrix share;
  double accepted, acceptance;
};

// One step from every state, many chains each.
RealStep step_from_all(const OrderedTarget& tiny, const AnyScaleRule& rule) {
  OrderedModel model(tiny);
  const Target target = tiny.enumerate();
  const auto n = static_cast<int64_t>(target.table.states.size());
  const torch::Tensor x = states_tensor(target, kDrawsPerState);
  const AnyScaleSampler sampler = sampler_of(rule);
  ChainState state = state_of(sampler, rule, model, x);
  StepParams params = sampler.params(20240501, torch::kCPU);
  sampler.step(model, state, params);
  const torch::Tensor pairs =
      state_index(x, tiny.categories) * n + state_index(state.x, tiny.categories);
  const torch::Tensor counts =
      torch::bincount(pairs, {}, n * n).to(torch::kFloat64) / kDrawsPerState;
  RealStep result{Matrix(n, Vector(n)), 0, 0};
  for (int64_t s = 0; s < n; ++s) result.share[s] = numbers_of(counts.narrow(0, s * n, n));
  result.accepted = (state.statistics.hops > 0).to(torch::kFloat64).mean().item<double>();
  result.acceptance = state.statistics.acceptance.mean().item<double>();
  return result;
}

AnyScaleRule first_order(int sites, double sigma, double alpha) {
  return {sigma, alpha, Matrix(sites, Vector(sites, 0.0)), Vector(sites, 0.0), {}};
}

// The variant for deep models: W diagonal, D = −W, A = 0.
AnyScaleRule with_diagonal(AnyScaleRule rule) {
  for (size_t i = 0; i < rule.d.size(); ++i) {
    rule.d[i] = 0.4 + 0.3 * static_cast<double>(i);
    rule.w[i][i] = -rule.d[i];
  }
  return rule;
}

AnyScaleRule with_auxiliary(double sigma, double alpha) {
  AnyScaleRule rule{sigma, alpha, {{-0.8, 0.6}, {0.6, 0.3}}, {1.7, 0.4}, {}};
  rule.a = reference::two_by_two_root(rule.w, rule.d);
  return rule;
}

TEST(AnyScaleExactness, WithoutAuxiliary) {
  for (const int categories : {2, 3, 5}) {
    for (const double strength : {0.5, 2.0}) {
      for (const bool diagonal : {false, true}) {
        const double sigma = strength < 1 ? 2.0 : 0.4;
        const OrderedTarget tiny{categories == 5 ? 2 : 3, categories, strength};
        const Target target = tiny.enumerate();
        AnyScaleRule rule = first_order(tiny.sites, sigma, 0.7);
        if (diagonal) rule = with_diagonal(rule);
        SCOPED_TRACE(fmt::format("K {} strength {} sigma {} diagonal {}", categories, strength,
                                 sigma, diagonal));
        const Matrix exact = reference::any_scale_transitions(target, rule);
        EXPECT_LT(reference::balance_error(exact, target.probabilities()), 1e-10);
        EXPECT_LT(reference::stationarity_error(exact, target.probabilities()), 1e-10);
        EXPECT_EQ(reference::communicating_classes(exact), 1);
        const RealStep real = step_from_all(tiny, rule);
        EXPECT_LT(worst_deviation(real.share, exact), 7);
        EXPECT_GT(real.accepted, 0);
        EXPECT_LT(real.acceptance, 1);
      }
    }
  }
}

// The quadrature is exact to rounding in the balance of a pair (one grid of u serves both), and to
// about 1e-5 in its value, because of the kinks of the acceptance.
TEST(AnyScaleExactness, WithAuxiliary) {
  for (const int categories : {2, 3, 5}) {
    for (const double strength : {0.5, 2.0}) {
      const OrderedTarget tiny{2, categories, strength};
      const Target target = tiny.enumerate();
      const AnyScaleRule rule = with_auxiliary(categories == 5 ? 3.0 : 1.0, 0.8);
      SCOPED_TRACE(fmt::format("K {} strength {}", categories, strength));
      const Matrix exact =
          reference::any_scale_transitions(target, rule, categories == 5 ? 0.25 : 0.1);
      for (const Vector& row : exact) {
        double sum = 0;
        for (const double p : row) sum += p;
        EXPECT_NEAR(sum, 1, 1e-9);
      }
      EXPECT_LT(reference::balance_error(exact, target.probabilities()), 1e-10);
      const RealStep real = step_from_all(tiny, rule);
      EXPECT_LT(worst_deviation(real.share, exact), 7);
      EXPECT_GT(real.accepted, 0);
      EXPECT_LT(real.acceptance, 1);
    }
  }
}

TEST(AnyScaleBrokenVariants, AreDetected) {
  const OrderedTarget tiny{2, 3, 2.0};
  const Target target = tiny.enumerate();
  for (const bool auxiliary : {false, true}) {
    AnyScaleRule rule =
        auxiliary ? with_auxiliary(1.0, 0.8) : with_diagonal(first_order(2, 1.0, 0.8));
    const RealStep real = step_from_all(tiny, rule);
    for (const AnyScaleFault fault :
         {AnyScaleFault::kNoValueTerm, AnyScaleFault::kNoReverse, AnyScaleFault::kReverseAtX,
          AnyScaleFault::kNoDensity, AnyScaleFault::kReverseDiagonal}) {
      if (fault == AnyScaleFault::kNoDensity && !auxiliary) continue;
      rule.fault = fault;
      SCOPED_TRACE(fmt::format("auxiliary {} fault {}", auxiliary, static_cast<int>(fault)));
      const Matrix broken = reference::any_scale_transitions(target, rule);
      EXPECT_GT(worst_deviation(real.share, broken), 7);
      if (fault == AnyScaleFault::kNoValueTerm) continue;  // exact, yet another proposal
      EXPECT_GT(reference::stationarity_error(broken, target.probabilities()), 1e-3);
    }
  }
}

// Makes a symmetric W of random numbers, and D from the rule with W + D ≻ 0, as plain numbers.
AnyScaleRule random_rule(int sites, DiagonalRule diagonal) {
  const auto generator = torch::make_generator<at::CPUGeneratorImpl>(11);
  const torch::Tensor r = torch::randn({sites, sites}, generator, torch::kFloat64);
  const torch::Tensor w = r + r.t();
  const DiagonalBound bound = bound_diagonal(w, diagonal);
  AnyScaleRule rule{0.7, 0.6, {}, numbers_of(bound.diagonal), {}};
  const torch::Tensor root = gaussian_root(w, bound.diagonal);
  for (int i = 0; i < sites; ++i) {
    rule.w.push_back(numbers_of(w[i]));
    rule.a.push_back(numbers_of(root[i]));
  }
  return rule;
}

// log q(y, u | x) and log q(x, u | y) of the drawn states, from the formulas with W, A and u = A x
// + ξ.
TEST(AnyScaleScores, EqualTheReference) {
  const OrderedTarget tiny{7, 5, 1.5};
  for (const DiagonalRule diagonal :
       {DiagonalRule::kShift, DiagonalRule::kMax, DiagonalRule::kTrace}) {
    const AnyScaleRule rule = random_rule(tiny.sites, diagonal);
    OrderedModel model(tiny);
    const AnyScaleSampler sampler = sampler_of(rule);
    const torch::Tensor x = torch::randint(
        0, 5, {32, 7}, torch::make_generator<at::CPUGeneratorImpl>(5), torch::kUInt8);
    ChainState state = state_of(sampler, rule, model, x);
    StepParams params = sampler.params(99, torch::kCPU);
    torch::Tensor noise = torch::empty({32, 7}, torch::kFloat64);
    ops::step_normals(params.rng, state.chain_ids, noise);
    const Evaluation &here = state.current, &there = state.workspace.proposed;
    const torch::Tensor gradient = here.gradient.clone();
    sampler.step(model, state, params);
    for (int64_t b = 0; b < 32; ++b) {
      const State from = row_of(x, b), to = row_of(state.workspace.y, b);
      Vector u = reference::times(rule.a, from);
      for (size_t i = 0; i < u.size(); ++i) u[i] += noise[b][i].item<double>();
      const double forward =
          reference::log_density(rule, from, u) +
          reference::any_scale_log_q(rule, numbers_of(gradient[b]), 5, from, to, u);
      const double backward =
          reference::log_density(rule, to, u) +
          reference::any_scale_log_q(rule, numbers_of(there.gradient[b]), 5, to, from, u);
      EXPECT_NEAR(state.workspace.log_forward[b].item<double>(), forward,
                  1e-9 * (1 + std::abs(forward)));
      EXPECT_NEAR(state.workspace.log_backward[b].item<double>(), backward,
                  1e-9 * (1 + std::abs(backward)));
    }
  }
}

// U = −½ xᵀWx − bᵀx; numbers of few bits, so that the float32 gradient is exact.
class QuadraticModel : public EnergyModel {
 public:
  QuadraticModel(torch::Tensor w, torch::Tensor b, int64_t categories)
      : w_(std::move(w)), b_(std::move(b)), categories_(categories) {}
  std::string kind_name() const override { return "quadratic"; }
  StateSpace space() const override { return {StateKind::kOrdered, b_.size(0), categories_}; }
  torch::Tensor energy(const torch::Tensor& x) override {
    const torch::Tensor v = relaxed(x).to(torch::kFloat64);
    return -0.5 * (v.matmul(w_) * v).sum(-1) - v.matmul(b_);
  }

 private:
  torch::Tensor w_, b_;
  int64_t categories_;
};

// Exact W, α = 1, σ → ∞: the proposal is π itself for any D, and nothing is rejected.
TEST(AnyScaleQuadratic, LogRatioVanishes) {
  const int64_t sites = 9, chains = 64;
  const auto generator = torch::make_generator<at::CPUGeneratorImpl>(3);
  const torch::Tensor r = torch::randint(-8, 9, {sites, sites}, generator, torch::kFloat64) / 32;
  const torch::Tensor w = r + r.t(), b = r[0] * 4;
  QuadraticModel model(w, b, 4);
  for (const DiagonalRule rule : {DiagonalRule::kShift, DiagonalRule::kTrace}) {
    const DiagonalBound bound = bound_diagonal(w, rule);
    const AnyScaleSampler sampler({.rule = rule, .sigma = 1e15, .alpha = 1, .search = false});
    const torch::Tensor x = torch::randint(0, 4, {chains, sites}, generator, torch::kUInt8);
    ChainState state = sampler.init(model, x, torch::arange(chains));
    sampler.restore(state, {{"curvature", w}, {"diagonal", bound.diagonal}});
    StepParams params = sampler.params(1, torch::kCPU);
    int64_t hops = 0;
    for (int t = 0; t < 20; ++t) {
      const torch::Tensor before = state.current.energy.clone();
      sampler.step(model, state, params);
      const Workspace& work = state.workspace;
      const torch::Tensor ratio =
          before - work.proposed.energy + work.log_backward - work.log_forward;
      EXPECT_LT(ratio.abs().max().item<double>(), 1e-10);
      hops += state.statistics.hops.sum().item<int64_t>();
    }
    EXPECT_GT(hops, chains * 20);
  }
}

// Tests the term x_i/σ: with a flat target, proposals stay near x and not near 0.
TEST(AnyScaleValueTerm, FlatTargetIsSymmetric) {
  QuadraticModel model(torch::zeros({6, 6}, torch::kFloat64), torch::zeros({6}, torch::kFloat64),
                       21);
  const AnyScaleSampler sampler({.sigma = 2, .alpha = 0.5, .search = false});
  ChainState state =
      sampler.init(model, torch::full({512, 6}, 10, torch::kUInt8), torch::arange(512));
  StepParams params = sampler.params(8, torch::kCPU);
  sampler.step(model, state, params);
  // mean of 3072 numbers of variance 2: standard error 0.026
  const torch::Tensor proposed = state.workspace.y.to(torch::kFloat64);
  EXPECT_NEAR(proposed.mean().item<double>(), 10, 6 * 0.026);
  EXPECT_NEAR(proposed.var().item<double>(), 2, 0.4);
  EXPECT_GT(state.statistics.acceptance.min().item<double>(), 0.999);
}

}  // namespace
}  // namespace isinglass::any_scale_test
