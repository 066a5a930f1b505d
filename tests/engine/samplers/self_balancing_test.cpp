// Local self-balancing against plain float64 formulas: transitions at a fixed balancing function,
// the parametrisations at extreme arguments, one step of training, and the result of training.
#include "engine/samplers/self_balancing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "io/error.h"
#include "kernels/base/balancing.h"
#include "kernels/random/philox.h"
#include "models/lattice/ising.h"
#include "tests/engine/transitions.h"
#include "tests/reference/self_balancing.h"

namespace isinglass::self_balancing_test {
namespace {

using reference::Fault;
using reference::Form;
using reference::SelfBalancing;
using reference::State;

struct Variant {
  const char* sampler;
  bool monotonic;
  Form form;
  BalancingForm ours;
  bool exact;  // differences
};

const Variant kVariants[] = {{"lsb-1", false, Form::kMixture, BalancingForm::kMixture, true},
                             {"lsb-2", false, Form::kNetwork, BalancingForm::kNetwork, true},
                             {"lsb-2", true, Form::kMonotonic, BalancingForm::kMonotonic, true},
                             {"flsb-1", false, Form::kMixture, BalancingForm::kMixture, false},
                             {"flsb-2", false, Form::kNetwork, BalancingForm::kNetwork, false},
                             {"flsb-2", true, Form::kMonotonic, BalancingForm::kMonotonic, false}};

std::string name_of(const Variant& v) {
  std::string name = fmt::format("{}{}", v.sampler, v.monotonic ? "_monotonic" : "");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<double> plain(const torch::Tensor& t) {
  const torch::Tensor own = t.contiguous();
  return {own.data_ptr<double>(), own.data_ptr<double>() + own.numel()};
}

// Parameters away from where training starts: no two alike.
torch::Tensor some_theta(BalancingForm form) {
  const torch::Tensor start = initial_balancing(form);
  return start + 0.6 * torch::sin(2.7 * torch::arange(start.numel(), torch::kFloat64) + 0.4);
}

NamedTensors some_learned(BalancingForm form) {
  return {{"theta", some_theta(form)}, {"log_eta", torch::full({}, 0.3, torch::kFloat64)}};
}

class SelfBalancingExactness : public testing::TestWithParam<Variant> {};

// The check has the power to detect a broken variant.
TEST_P(SelfBalancingExactness, RealStepMatchesEnumeration) {
  const Variant& v = GetParam();
  for (const double strength : {0.5, 2.0, 3.0}) {
    if (v.monotonic && strength < 1) continue;  // slow
    SCOPED_TRACE(strength);
    const TinyTarget tiny{3, 2, strength};
    const Target target = tiny.enumerate();
    SelfBalancing plainly{target, v.form, v.exact, plain(some_theta(v.ours))};
    const Matrix exact = self_balancing_transitions(plainly);
    EXPECT_LT(reference::balance_error(exact, target.probabilities()), 1e-10);
    EXPECT_LT(reference::stationarity_error(exact, target.probabilities()), 1e-10);
    const Frequencies real =
        real_step(tiny, v.sampler, {.monotonic = v.monotonic}, 0, some_learned(v.ours));
    EXPECT_LT(worst_deviation(real.share, exact), 7);
    EXPECT_GT(real.accepted, 0);
    EXPECT_LT(real.acceptance, 1);
    if (strength < 1 || strength > 2) continue;
    for (const Fault fault : {Fault::kSign, Fault::kNoReverse, Fault::kReverseAtX}) {
      SCOPED_TRACE(static_cast<int>(fault));
      plainly.fault = fault;
      const Matrix broken = self_balancing_transitions(plainly);
      EXPECT_GT(reference::stationarity_error(broken, target.probabilities()), 1e-3);
      EXPECT_GT(worst_deviation(real.share, broken), 7);
    }
  }
}

// One burn-in step moves θ and log η by −0.01 times the gradient of the mean objective, found here
// by finite differences; x′ and x* follow from the same uniform numbers by a plain inverse CDF.
TEST_P(SelfBalancingExactness, TrainingFollowsTheGradientOfTheObjective) {
  const Variant& v = GetParam();
  const int64_t chains = 48;
  const TinyTarget tiny{4, 2, 1.5};
  const Target target = tiny.enumerate();
  TinyModel model(tiny);
  const auto sampler = make_sampler(v.sampler, {.monotonic = v.monotonic}, model);
  const torch::Tensor x = states_tensor(target, chains / 16);
  ChainState state = sampler->init(model, x, torch::arange(chains));
  StepParams params = sampler->params(99, torch::kCPU);
  sampler->warmup()->restore(state, some_learned(v.ours));
  const NamedTensors before = sampler->warmup()->learned(state);
  const StepInfo info = sampler->warmup()->burn_in_step(model, state, params, 0, 1);
  EXPECT_EQ(info.evaluations, v.exact ? 2 * (1 + tiny.sites) : 2);
  const NamedTensors after = sampler->warmup()->learned(state);

  const SelfBalancing drawn{target, v.form, v.exact, plain(before[0].second), 0.3};
  const auto site_at = [&](const State& from, double u) {
    int i = 0;
    for (; i < tiny.sites - 1 && u >= drawn.forward(from, i); ++i) u -= drawn.forward(from, i);
    return i;
  };
  struct Drawn {
    int state, move, star;
  };
  std::vector<Drawn> draws;
  for (int64_t c = 0; c < chains; ++c) {
    const PhiloxStream numbers{99, static_cast<uint32_t>(c), 0};
    const int s = static_cast<int>(c / (chains / 16));
    const State& from = target.table.states[s];
    draws.push_back({s, site_at(from, numbers.uniform(Purpose::kSite, 0)),
                     site_at(from, numbers.uniform(Purpose::kSite, 1))});
  }
  const auto mean_j = [&](const SelfBalancing& now) {
    double sum = 0;
    for (const auto& [s, move, star] : draws)
      sum += self_balancing_j(now, drawn, target.table.states[s], move, star);
    return sum / static_cast<double>(chains);
  };
  const std::vector<double> step = plain((before[0].second - after[0].second) / 1e-2);
  const double h = 1e-5;
  double largest = 0;
  for (size_t p = 0; p < step.size(); p += step.size() > 100 ? 7 : 1) {
    SelfBalancing up = drawn, down = drawn;
    up.theta[p] += h;
    down.theta[p] -= h;
    const double slope = (mean_j(up) - mean_j(down)) / (2 * h);
    EXPECT_NEAR(step[p], slope, 2e-6) << p;  // d is float32 in our step
    largest = std::max(largest, std::abs(slope));
  }
  EXPECT_GT(largest, 1e-3);
  SelfBalancing up = drawn, down = drawn;
  up.log_eta += h;
  down.log_eta -= h;
  const double eta_step = (before[1].second - after[1].second).item<double>() / 1e-2;
  EXPECT_NEAR(eta_step, (mean_j(up) - mean_j(down)) / (2 * h), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(All, SelfBalancingExactness, testing::ValuesIn(kVariants),
                         [](const auto& info) { return name_of(info.param); });

TEST(LearnedBalancing, EqualsTheFormulasAndBalances) {
  const torch::Tensor d =
      torch::tensor({-1e4, -80.0, -12.5, -1.0, -0.1, 0.0, 0.1, 1.0, 12.5, 80.0, 1e4},
                    torch::kFloat64)
          .view({1, -1});
  for (const Variant& v : kVariants) {
    if (!v.exact) continue;
    SCOPED_TRACE(name_of(v));
    const torch::Tensor theta = some_theta(v.ours).requires_grad_();
    const torch::Tensor log_g = log_balancing(v.ours, theta, d);
    EXPECT_TRUE(log_g.isfinite().all().item<bool>());
    EXPECT_TRUE(torch::allclose(log_g - log_g.flip(1), d, 1e-12, 1e-12));
    const auto gradient = torch::autograd::grad({log_g.sum()}, {theta});
    EXPECT_TRUE(gradient[0].isfinite().all().item<bool>());
    for (int64_t i = 0; i < d.size(1); ++i) {
      const double t = std::exp(d[0][i].item<double>());
      if (t == 0 || std::isinf(t)) continue;
      const double g = std::log(reference::learned_balance(v.form, plain(theta.detach()), t));
      EXPECT_NEAR(log_g[0][i].item<double>(), g, 1e-10 * std::max(1.0, std::abs(g))) << i;
    }
  }
}

TEST(LearnedBalancing, AMixtureOfOneIsThatFunction) {
  const torch::Tensor d = torch::linspace(-30, 30, 61, torch::kFloat64).view({1, -1});
  for (int g = 0; g < 4; ++g) {
    torch::Tensor theta = torch::full({4}, -1e3, torch::kFloat64);
    theta[g] = 0;
    const torch::Tensor log_g = log_balancing(BalancingForm::kMixture, theta, d);
    for (int64_t i = 0; i < 61; ++i) {
      EXPECT_NEAR(log_g[0][i].item<double>(),
                  log_balance(static_cast<Balancing>(g), d[0][i].item<double>()), 1e-12);
    }
  }
}

class ShiftedModel : public TinyModel {
 public:
  ShiftedModel(const TinyTarget& tiny, double shift) : TinyModel(tiny), shift_(shift) {}
  torch::Tensor energy(const torch::Tensor& x) override { return TinyModel::energy(x) + shift_; }

 private:
  double shift_;
};

TEST(SelfBalancingTraining, AConstantInTheEnergyChangesNothing) {
  for (const Variant& v : kVariants) {
    SCOPED_TRACE(name_of(v));
    torch::Tensor theta[2], log_eta[2];
    for (int shifted = 0; shifted < 2; ++shifted) {
      ShiftedModel model(TinyTarget{4, 2, 1.5}, 1000.0 * shifted);
      const auto sampler = make_sampler(v.sampler, {.monotonic = v.monotonic}, model);
      const torch::Tensor x = torch::zeros({32, 4}, torch::kUInt8);
      ChainState state = sampler->init(model, x, torch::arange(32));
      StepParams params = sampler->params(4, torch::kCPU);
      for (int t = 0; t < 15; ++t) sampler->warmup()->burn_in_step(model, state, params, t, 15);
      theta[shifted] = sampler->warmup()->learned(state)[0].second;
      log_eta[shifted] = sampler->warmup()->learned(state)[1].second;
    }
    EXPECT_TRUE(torch::allclose(theta[0], theta[1], 0, 1e-9));
    EXPECT_TRUE(torch::allclose(log_eta[0], log_eta[1], 0, 1e-9));
    EXPECT_GT(log_eta[0].abs().item<double>(), 1e-3);  // it did learn
  }
}

// A 3×3 Ising model with a field: the expected objective, by enumeration, at what was learned lies
// below that at the start, each at its best η.
TEST(SelfBalancingTraining, TheObjectiveGoesDown) {
  const int64_t side = 3, sites = side * side;
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < sites; ++i) {
    if (i % side + 1 < side) edges.insert(edges.end(), {i, i + 1});
    if (i + side < sites) edges.insert(edges.end(), {i, i + side});
  }
  const torch::Tensor pairs = torch::tensor(edges).view({-1, 2});
  const torch::Tensor field = 1.5 * torch::sin(1.9 * torch::arange(sites, torch::kFloat64) + 0.2);
  const torch::Tensor coupling = torch::full({pairs.size(0)}, 0.3, torch::kFloat64);
  IsingModel ising(pairs, coupling, field);
  Target target{reference::StateTable(sites, 2), {}, {}};
  torch::Tensor all = torch::empty({512, sites}, torch::kUInt8);
  for (int64_t s = 0; s < 512; ++s) {
    for (int64_t i = 0; i < sites; ++i) all[s][i] = target.table.states[s][i];
  }
  const EnergyGrad at = ising.energy_and_grad(all);
  for (int64_t s = 0; s < 512; ++s) {
    target.energy.push_back(at.energy[s].item<double>());
    target.gradient.emplace_back();
    for (int64_t i = 0; i < sites; ++i)
      target.gradient.back().push_back({0.0, at.gradient[s][i].item<double>()});
  }
  const auto best_j = [&](const Variant& v, const torch::Tensor& theta) {
    return reference::least_expected_j({target, v.form, v.exact, plain(theta)});
  };
  for (const Variant& v : kVariants) {
    if (v.exact) continue;  // the same on a model that is linear in every site
    SCOPED_TRACE(name_of(v));
    const auto sampler = make_sampler(v.sampler, {.monotonic = v.monotonic}, ising);
    ChainState state = sampler->init(ising, all.slice(0, 0, 512, 8), torch::arange(64));
    StepParams params = sampler->params(4, torch::kCPU);
    const torch::Tensor start = sampler->warmup()->learned(state)[0].second;
    for (int t = 0; t < 200; ++t) sampler->warmup()->burn_in_step(ising, state, params, t, 200);
    const torch::Tensor theta = sampler->warmup()->learned(state)[0].second;
    const double first = best_j(v, start), last = best_j(v, theta);
    EXPECT_LT(last, first);
  }
}

TEST(SelfBalancingTraining, IsFrozenAfterBurnInAndRestored) {
  TinyModel model(TinyTarget{4, 2, 1.0});
  const auto sampler = make_sampler("flsb-1", {}, model);
  const torch::Tensor x = torch::zeros({16, 4}, torch::kUInt8), ids = torch::arange(16);
  ChainState state = sampler->init(model, x, ids);
  StepParams params = sampler->params(4, torch::kCPU);
  for (int t = 0; t < 10; ++t) sampler->warmup()->burn_in_step(model, state, params, t, 10);
  const NamedTensors kept = sampler->warmup()->learned(state);
  EXPECT_FALSE(kept[0].second.requires_grad());
  for (int t = 0; t < 10; ++t) EXPECT_EQ(sampler->step(model, state, params).evaluations, 1);
  EXPECT_TRUE(torch::equal(kept[0].second, sampler->warmup()->learned(state)[0].second));

  ChainState other = sampler->init(model, x, ids);
  sampler->warmup()->restore(other, kept);
  EXPECT_TRUE(torch::equal(kept[0].second, sampler->warmup()->learned(other)[0].second));
  EXPECT_TRUE(torch::equal(kept[1].second, sampler->warmup()->learned(other)[1].second));
  EXPECT_THROW(sampler->warmup()->restore(other, {}), Error);
  EXPECT_THROW(sampler->warmup()->restore(other, some_learned(BalancingForm::kNetwork)), Error);
}

// Fields of 1e4: no overflow in steps or in training.
TEST(SelfBalancingTraining, StaysFiniteFarOut) {
  const int64_t sites = 40;
  const torch::Tensor from = torch::arange(sites - 1);
  IsingModel ising(torch::stack({from, from + 1}, 1), torch::full({sites - 1}, 50, torch::kFloat64),
                   5e3 * torch::cos(torch::arange(sites, torch::kFloat64)));
  for (const Variant& v : kVariants) {
    SCOPED_TRACE(name_of(v));
    const auto sampler = make_sampler(v.sampler, {.monotonic = v.monotonic}, ising);
    const torch::Tensor ids = torch::arange(8);
    ChainState state = sampler->init(ising, random_states(ising.space(), ids, 0, torch::kCPU), ids);
    StepParams params = sampler->params(4, torch::kCPU);
    for (int t = 0; t < 60; ++t) sampler->warmup()->burn_in_step(ising, state, params, t, 60);
    EXPECT_TRUE(sampler->warmup()->learned(state)[0].second.isfinite().all().item<bool>());
    for (int t = 0; t < 20; ++t) sampler->step(ising, state, params);
    EXPECT_EQ(state.statistics.non_finite.sum().item<int64_t>(), 0);
  }
}

}  // namespace
}  // namespace isinglass::self_balancing_test
