// Hamiltonian samplers: stationarity, the leapfrog map, and the special case without a leader.
#include <gtest/gtest.h>

#include "engine/registry.h"
#include "io/error.h"
#include "tests/engine/samplers/hamiltonian_fixture.h"
#include "tests/support/scratch.h"

namespace isinglass::hamiltonian_test {
namespace {

constexpr double kErrors = 4;  // standard errors
constexpr int64_t kSteps = 400;

std::unique_ptr<Sampler> sampler_for(const std::string& name, const SamplerOptions& options,
                                     const PlaneTarget& target) {
  return make_sampler(name, options, *target.model());
}

// A wrong sampler: as in Algorithm 1 of the paper, the particles of a group move one after the
// other, each with the present leader; or the test has the opposite sign, as Algorithm 2 prints it.
class WrongSampler : public HamiltonianSampler {
 public:
  WrongSampler(const HamiltonianOptions& options, double step_size, bool sequential,
               bool turned_sign)
      : HamiltonianSampler(options, {"step-size", step_size}),
        options_(options),
        step_size_(step_size),
        sequential_(sequential),
        turned_sign_(turned_sign) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override {
    refresh(state, params);
    if (sequential_) {
      move_in_turn(model, state, params);
    } else {
      integrate(model, state, params);
    }
    Workspace& w = state.workspace;
    if (!turned_sign_) {
      accept(state, params, false, options_.group);
      return {};
    }
    ops::accept(w.proposed.energy, state.current.energy, w.log_backward, w.log_forward, params.rng,
                state.chain_ids, {state.x, state.current.energy, state.current.gradient},
                {w.y, w.proposed.energy, w.proposed.gradient}, state.statistics, false,
                options_.group);
    params.advance();
    return {};
  }

  void move_in_turn(EnergyModel& model, ChainState& state, const StepParams&) const {
    Workspace& w = state.workspace;
    torch::Tensor& p = momentum(state);
    w.y.copy_(state.x);
    w.log_forward.copy_(-0.5 * p.square().sum(1));
    const auto member = [this](torch::Tensor t, int64_t i) {
      return t.view({-1, options_.group, 2}).select(1, i);
    };
    const auto kick = [&](int64_t i) {
      evaluate_proposal(model, state);
      const torch::Tensor u = w.proposed.energy.view({-1, options_.group});
      const torch::Tensor leader = u.argmin(1);
      const torch::Tensor lead_x = w.y.view({-1, options_.group, 2})
                                       .gather(1, leader.view({-1, 1, 1}).expand({-1, 1, 2}))
                                       .squeeze(1);
      const torch::Tensor pull =
          options_.pull * ((u.select(1, i) - std::get<0>(u.min(1))) / 2).tanh().unsqueeze(1);
      const torch::Tensor force = member(w.proposed.gradient, i) + pull * (member(w.y, i) - lead_x);
      member(p, i).sub_(0.5 * step_size_ * force);
    };
    for (int64_t l = 0; l < options_.leapfrog; ++l) {
      for (int64_t i = 0; i < options_.group; ++i) {
        kick(i);
        member(w.y, i).add_(step_size_ * member(p, i));
        kick(i);
      }
    }
    evaluate_proposal(model, state);
    w.log_backward.copy_(-0.5 * p.square().sum(1));
  }

 private:
  HamiltonianOptions options_;
  double step_size_;
  bool sequential_, turned_sign_;
};

struct Case {
  const char* name;
  SamplerOptions options;
  int64_t group = 1;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class HamiltonianExactness : public testing::TestWithParam<Case> {};

TEST_P(HamiltonianExactness, KeepsMomentsAndModeWeights) {
  const Case& c = GetParam();
  for (const PlaneTarget& target : {correlated_gaussian(), unequal_mixture()}) {
    const auto sampler = sampler_for(c.name, c.options, target);
    EXPECT_TRUE(sampler->exact());
    const Deviation found = deviation_of(*sampler, target, c.group, kSteps);
    EXPECT_LT(found.worst, kErrors);
    EXPECT_GT(found.acceptance, 0.1);
    EXPECT_LT(found.acceptance, 0.95);  // the test rejects some
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HamiltonianExactness,
    testing::Values(
        Case{"mala", {.step_size = 0.9}}, Case{"mala", {.step_size = 0.6, .mass = 0.4}},
        Case{"hmc", {.step_size = 0.8, .leapfrog = 3}},
        Case{"hmc", {.step_size = 1.0, .leapfrog = 1, .damping = 0.9}},
        Case{"fhl", {.step_size = 0.6, .leapfrog = 3, .pull = 4, .group = 2}, 2},
        Case{"fhl", {.step_size = 0.4, .leapfrog = 3, .pull = 1, .group = 4}, 4},
        Case{"fhl",
             {.step_size = 0.4, .leapfrog = 2, .pull = 1, .group = 4, .mass = 0.6, .damping = 0.8},
             4}));

// The check detects each mistake: no test, the sign of Algorithm 2, the loop of Algorithm 1.
TEST(HamiltonianMistakes, AreSeenByTheSameCheck) {
  const PlaneTarget target = unequal_mixture();
  for (const char* name : {"ula", "uhmc"}) {
    const auto sampler = sampler_for(name, {.step_size = 0.9}, target);
    EXPECT_FALSE(sampler->exact());
    EXPECT_GT(deviation_of(*sampler, target, 1, kSteps).worst, kErrors) << name;
  }
  const auto always =
      sampler_for("fhl", {.step_size = 0.4, .leapfrog = 3, .always_accept = true}, target);
  EXPECT_FALSE(always->exact());
  EXPECT_GT(deviation_of(*always, target, 4, kSteps).worst, kErrors);
  const auto elastic =
      sampler_for("fhl", {.step_size = 0.4, .leapfrog = 3, .elastic_energy = true}, target);
  EXPECT_FALSE(elastic->exact());
  EXPECT_GT(deviation_of(*elastic, target, 4, kSteps).worst, kErrors);

  const HamiltonianOptions options{.leapfrog = 3, .group = 2, .pull = 4};
  const auto deviation = [&](bool sequential, bool turned) {
    return deviation_of(WrongSampler(options, 0.6, sequential, turned), target, 2, kSteps).worst;
  };
  EXPECT_LT(deviation(false, false), kErrors);
  EXPECT_GT(deviation(false, true), kErrors);
  EXPECT_GT(deviation(true, false), kErrors);
}

// Records which particle leads at every call of the model.
class NotedLeaders : public EnergyModel {
 public:
  explicit NotedLeaders(std::shared_ptr<EnergyModel> model) : model_(std::move(model)) {}
  std::string kind_name() const override { return "noted"; }
  StateSpace space() const override { return model_->space(); }
  torch::Tensor energy(const torch::Tensor& x) override { return model_->energy(x); }
  void evaluate(const torch::Tensor& x, Evaluation& out) override {
    model_->evaluate(x, out);
    leaders.push_back(out.energy.argmin().item<int64_t>());
  }

  std::vector<int64_t> leaders;

 private:
  std::shared_ptr<EnergyModel> model_;
};

// A trajectory of one group as a map of (x, p), float64 [n, 4].
class LeapfrogMap : public testing::Test {
 protected:
  // Particle 2 leads, then particle 1, then 2 again, at every step by more than one in energy.
  torch::Tensor start() const {
    return torch::tensor({-2.25, 1.75, 2.25, 1.75, -2.25, 2.5, -0.25, -1.75, 2.0, 1.5, -2.25, 1.0},
                         torch::kFloat64)
        .view({3, 4});
  }

  torch::Tensor apply(const torch::Tensor& at, bool sequential = false) {
    const WrongSampler sampler(options, 0.125, sequential, false);
    const torch::Tensor x = at.slice(1, 0, 2).to(torch::kFloat32).contiguous();
    ChainState state = sampler.init(*model, x, torch::arange(3));
    HamiltonianSampler::momentum(state).copy_(at.slice(1, 2, 4));
    const StepParams params = sampler.params(0, torch::kCPU);
    if (sequential) {
      sampler.move_in_turn(*model, state, params);
    } else {
      sampler.integrate(*model, state, params);
    }
    return torch::cat({state.workspace.y.to(torch::kFloat64), HamiltonianSampler::momentum(state)},
                      1);
  }

  static torch::Tensor turned(const torch::Tensor& at) {
    return at * torch::tensor({1.0, 1.0, -1.0, -1.0}, torch::kFloat64);
  }

  double irreversibility(bool sequential) {
    const torch::Tensor there = apply(start(), sequential);
    EXPECT_GT((there - start()).abs().max().item<double>(), 0.5);
    const torch::Tensor back = turned(apply(turned(there), sequential));
    return (back - start()).abs().max().item<double>();
  }

  HamiltonianOptions options{.leapfrog = 8, .group = 3, .pull = 2};
  std::shared_ptr<NotedLeaders> model = std::make_shared<NotedLeaders>(unequal_mixture().model());
};

TEST_F(LeapfrogMap, IsReversibleThroughAChangeOfLeader) {
  EXPECT_LT(irreversibility(false), 1e-5);
  EXPECT_GT(std::set(model->leaders.begin(), model->leaders.end()).size(), 1u);
  EXPECT_GT(irreversibility(true), 1e-3);  // particles in turn
}

// Central differences of fourth order; positions are float32, so that a step h leaves 1e-7 / h.
TEST_F(LeapfrogMap, KeepsVolumeThroughAChangeOfLeader) {
  const double h = 1.0 / 32;
  apply(start());
  const std::vector<int64_t> leaders = model->leaders;
  EXPECT_GT(std::set(leaders.begin(), leaders.end()).size(), 1u);
  const auto moved = [&](int64_t coordinate, double by) {
    torch::Tensor at = start();
    at.view(-1)[coordinate] += by;
    model->leaders.clear();
    const torch::Tensor result = apply(at).view(-1);
    EXPECT_EQ(model->leaders, leaders);  // differentiable here
    return result;
  };
  std::vector<torch::Tensor> columns;
  for (int64_t i = 0; i < 12; ++i) {
    columns.push_back((8 * (moved(i, h) - moved(i, -h)) - (moved(i, 2 * h) - moved(i, -2 * h))) /
                      (12 * h));
  }
  EXPECT_NEAR(at::linalg_det(torch::stack(columns, 1)).item<double>(), 1, 1e-4);
}

// The chains are equal bit for bit, including rejections.
TEST(FollowHamiltonianLeader, WithoutAPullIsHmc) {
  const PlaneTarget target = unequal_mixture();
  const auto model = target.model();
  torch::manual_seed(3);
  const torch::Tensor x = target.draw(12), ids = torch::arange(12);
  const auto after = [&](const char* name, const SamplerOptions& options) {
    const auto sampler = make_sampler(name, options, *model);
    ChainState state = sampler->init(*model, x, ids);
    StepParams params = sampler->params(8, torch::kCPU);
    for (int t = 0; t < 40; ++t) sampler->step(*model, state, params);
    EXPECT_LT(state.statistics.acceptance_sum.min().item<double>(), 39);
    return torch::cat({state.x.to(torch::kFloat64), state.current.energy.unsqueeze(1),
                       state.statistics.acceptance_sum.unsqueeze(1)},
                      1);
  };
  const torch::Tensor hmc = after("hmc", {.step_size = 0.7, .leapfrog = 3});
  EXPECT_TRUE(
      torch::equal(hmc, after("fhl", {.step_size = 0.7, .leapfrog = 3, .pull = 0, .group = 4})));
  EXPECT_TRUE(
      torch::equal(hmc, after("fhl", {.step_size = 0.7, .leapfrog = 3, .pull = 5, .group = 1})));
  EXPECT_FALSE(
      torch::equal(hmc, after("fhl", {.step_size = 0.7, .leapfrog = 3, .pull = 1, .group = 4})));
  EXPECT_TRUE(torch::equal(after("mala", {.step_size = 0.7}),
                           after("hmc", {.step_size = 0.7, .leapfrog = 1})));
}

// y = x − (η²/2)∇U(x) + ηξ
TEST(Langevin, ProposesByTheGradient) {
  const PlaneTarget target = correlated_gaussian();
  const auto model = target.model();
  const auto sampler = make_sampler("ula", {.step_size = 0.25}, *model);
  const torch::Tensor x = torch::ones({20000, 2});
  ChainState state = sampler->init(*model, x, torch::arange(20000));
  StepParams params = sampler->params(2, torch::kCPU);
  sampler->step(*model, state, params);
  const torch::Tensor gradient = model->energy_and_grad(x).gradient;
  const torch::Tensor noise = (state.x - x + 0.03125 * gradient) / 0.25;
  EXPECT_LT(noise.mean(0).abs().max().item<double>(), 4 / std::sqrt(20000.0));
  EXPECT_LT((noise.var(0) - 1).abs().max().item<double>(), 4 * std::sqrt(2 / 20000.0));
}

TEST(FollowHamiltonianLeader, GroupsMoveTogetherAndAlone) {
  const PlaneTarget target = unequal_mixture();
  const auto model = target.model();
  torch::manual_seed(5);
  const torch::Tensor x = target.draw(12), ids = torch::arange(12);
  const auto sampler = make_sampler("fhl", {.step_size = 0.8, .group = 3}, *model);
  ChainState all = sampler->init(*model, x, ids);
  StepParams params = sampler->params(8, torch::kCPU);
  int64_t moved_groups = 0;
  for (int t = 0; t < 30; ++t) {
    const torch::Tensor before = all.x.clone();
    ChainState second = sampler->init(*model, before.slice(0, 3, 6), ids.slice(0, 3, 6));
    StepParams same = sampler->params(8, torch::kCPU, params.step());
    sampler->step(*model, all, params);
    sampler->step(*model, second, same);
    EXPECT_TRUE(torch::equal(second.x, all.x.slice(0, 3, 6)));
    const torch::Tensor moved = (all.x != before).any(1).view({4, 3}).sum(1);
    EXPECT_TRUE(((moved == 0) | (moved == 3)).all().item<bool>());
    moved_groups += (moved == 3).sum().item<int64_t>();
  }
  EXPECT_GT(moved_groups, 10);
  EXPECT_LT(moved_groups, 110);
}

TEST(HamiltonianSamplers, CountModelCallsAndRefuseWhatIsNotFinite) {
  const PlaneTarget target = correlated_gaussian();
  const auto model = target.model();
  const torch::Tensor x = torch::ones({4, 2}), ids = torch::arange(4);
  const auto sampler = make_sampler("hmc", {.step_size = 1e5, .leapfrog = 8}, *model);
  ChainState state = sampler->init(*model, x, ids);
  StepParams params = sampler->params(2, torch::kCPU);
  EXPECT_EQ(sampler->step(*model, state, params).evaluations, 8);
  EXPECT_TRUE(torch::equal(state.x, x));
  EXPECT_EQ(state.statistics.non_finite.sum().item<int64_t>(), 4);
}

TEST(HamiltonianSamplers, RefuseOptionsThatDoNotFit) {
  const auto model = correlated_gaussian().model();
  const auto make = [&](const char* name, const SamplerOptions& options) {
    make_sampler(name, options, *model);
  };
  EXPECT_ERROR(make("hmc", {.step_size = 0}), "step-size is 0; hmc takes above 0");
  EXPECT_ERROR(make("hmc", {.leapfrog = 0}), "leapfrog is 0");
  EXPECT_ERROR(make("hmc", {.leapfrog = 1.5}), "takes a whole number");
  EXPECT_ERROR(make("mala", {.leapfrog = 2}), "mala does not read leapfrog");
  EXPECT_ERROR(make("hmc", {.pull = 1}), "hmc does not read pull");
  EXPECT_ERROR(make("fhl", {.pull = -1}), "pull is -1");
  EXPECT_ERROR(make("hmc", {.mass = 0}), "mass is 0");
  EXPECT_ERROR(make("hmc", {.damping = 1}), "damping is 1");
  EXPECT_ERROR(make("hmc", {.adapt = true, .always_accept = true}), "always-accept");
  EXPECT_ERROR(make("gwg", {}), "these do: ula, mala, uhmc, hmc, fhl");
  const auto fhl = make_sampler("fhl", {}, *model);
  EXPECT_ERROR(fhl->init(*model, torch::zeros({6, 2}), torch::arange(6)),
               "chains is 6; it must be a multiple of group 4");
}

TEST(HamiltonianSamplers, AdaptToTheirAcceptance) {
  const PlaneTarget target = correlated_gaussian();
  const auto model = target.model();
  torch::manual_seed(6);
  const torch::Tensor x = target.draw(200), ids = torch::arange(200);
  for (const auto& [name, wanted] : {std::pair{"mala", 0.574}, {"hmc", 0.651}, {"fhl", 0.651}}) {
    const auto sampler = make_sampler(name, {.adapt = true}, *model);
    ChainState state = sampler->init(*model, x, ids);
    StepParams params = sampler->params(5, torch::kCPU);
    run(*model, *sampler, state, params, {.burn_in = 300}, {});
    const double acceptance = run(*model, *sampler, state, params, {.steps = 100}, {}).acceptance;
    EXPECT_NEAR(acceptance, wanted, 0.05) << name;
  }
}

// A chain may differ from its twin if a test is within rounding of its boundary.
TEST(HamiltonianGpu, MovesAsOnTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const PlaneTarget target = unequal_mixture();
  torch::manual_seed(4);
  const torch::Tensor x = target.draw(400), ids = torch::arange(400);
  const auto after = [&](const std::string& name, torch::Device device) {
    const auto model = target.model();
    model->to(device);
    const auto sampler = make_sampler(name, {.step_size = 0.5}, *model);
    ChainState state = sampler->init(*model, x.to(device), ids);
    StepParams params = sampler->params(9, device);
    for (int t = 0; t < 5; ++t) sampler->step(*model, state, params);
    return state.x.cpu();
  };
  for (const char* name : {"ula", "mala", "uhmc", "hmc", "fhl"}) {
    const torch::Tensor far = (after(name, torch::kCUDA) - after(name, torch::kCPU)).abs() > 1e-3;
    EXPECT_LE(far.any(1).sum().item<int64_t>(), 4) << name;
  }
}

}  // namespace
}  // namespace isinglass::hamiltonian_test
