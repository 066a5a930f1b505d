// Hamiltonian samplers within bounds: they keep a correlated normal distribution, truncated to a
// box that cuts off much of it. Moments, and the mass near walls, are compared with quadrature.
#include "models/bounds.h"

#include <gtest/gtest.h>

#include "engine/annealing/at_temperature.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "io/error.h"
#include "models/combined/bounded.h"
#include "tests/engine/samplers/hamiltonian_fixture.h"
#include "tests/support/scratch.h"

namespace isinglass::bounds_test {
namespace {

constexpr double kErrors = 4;  // standard errors
constexpr int64_t kChains = 384, kSteps = 400;
const Bounds kBox{-0.6, 1.1};

std::shared_ptr<BoundedModel> truncated() {
  return std::make_shared<BoundedModel>(correlated_gaussian().model(), kBox);
}

// x_0, x_1, x_0², x_0 x_1, x_1², and whether x_0 or x_1 are within a tenth of the width of the
// lower or the upper wall: [B, 9].
torch::Tensor statistics(const torch::Tensor& states) {
  const torch::Tensor x = states.to(torch::kFloat64);
  const torch::Tensor a = x.select(1, 0), b = x.select(1, 1);
  std::vector<torch::Tensor> all = {a, b, a * a, a * b, b * b};
  const double margin = (kBox.high - kBox.low) / 10;
  for (const torch::Tensor& s : {a, b}) {
    all.push_back(s.lt(kBox.low + margin).to(torch::kFloat64));
    all.push_back(s.gt(kBox.high - margin).to(torch::kFloat64));
  }
  return torch::stack(all, 1);
}

// The states of a grid of cells' midpoints, and their probabilities.
struct Grid {
  torch::Tensor states, probability;
};

Grid grid(int64_t cells) {
  const torch::Tensor at = kBox.low + (kBox.high - kBox.low) *
                                          (torch::arange(cells, torch::kFloat64) + 0.5) /
                                          static_cast<double>(cells);
  const torch::Tensor states = torch::cartesian_prod({at, at});
  return {states, (-correlated_gaussian().model()->energy(states)).softmax(0)};
}

torch::Tensor exact_draws() {
  const PlaneTarget target = correlated_gaussian();
  const torch::Tensor x = target.draw(20 * kChains);
  const torch::Tensor inside = ((x >= kBox.low) & (x <= kBox.high)).all(1);
  return x.index({inside}).narrow(0, 0, kChains).contiguous();
}

Deviation deviation_in_box(const Sampler& sampler, EnergyModel& model, int64_t group) {
  torch::manual_seed(20);
  ChainState state = sampler.init(model, exact_draws(), torch::arange(kChains));
  StepParams params = sampler.params(31, torch::kCPU);
  std::vector<torch::Tensor> series;
  for (int64_t t = 0; t < kSteps; ++t) {
    sampler.step(model, state, params);
    require_within(kBox, state.x, "the states");
    series.push_back(statistics(state.x).view({kChains / group, group, -1}));
  }
  const torch::Tensor all = torch::stack(series);  // [steps, groups, members, statistics]
  const Grid cells = grid(500);
  const torch::Tensor expected = (statistics(cells.states) * cells.probability.unsqueeze(1)).sum(0);
  Deviation result;
  for (int64_t member = 0; member < group; ++member) {
    for (int64_t s = 0; s < expected.size(0); ++s) {
      const torch::Tensor own = all.select(3, s).select(2, member).contiguous();
      result.worst = std::max(result.worst, standard_errors(own, expected[s].item<double>()));
    }
  }
  result.acceptance =
      state.statistics.acceptance_sum.mean().item<double>() / static_cast<double>(kSteps);
  return result;
}

// Steps are long enough for trajectories to meet walls more than once.
TEST(Bounded, SamplersKeepATruncatedNormalDistribution) {
  struct Case {
    const char* name;
    SamplerOptions options;
    int64_t group = 1;
  };
  const std::vector<Case> cases = {
      {"mala", {.step_size = 0.9}},
      {"hmc", {.step_size = 0.5, .leapfrog = 5}},
      {"hmc", {.step_size = 0.4, .leapfrog = 3, .mass = 0.5, .damping = 0.7}},
      {"fhl", {.step_size = 0.5, .leapfrog = 3, .pull = 1, .group = 4}, 4}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const auto model = truncated();
    const auto sampler = make_sampler(one.name, one.options, *model);
    const Deviation found = deviation_in_box(*sampler, *model, one.group);
    EXPECT_LT(found.worst, kErrors);
    EXPECT_GT(found.acceptance, 0.3);
    EXPECT_LT(found.acceptance, 0.99);
  }
}

// A wrong sampler: it moves states that leave the box to the nearest wall, as published trainers
// do, before the test.
class Clamping : public HamiltonianSampler {
 public:
  using HamiltonianSampler::HamiltonianSampler;

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override {
    refresh(state, params);
    integrate(*correlated_gaussian().model(), state, params);
    state.workspace.y.clamp_(static_cast<float>(kBox.low), static_cast<float>(kBox.high));
    evaluate_proposal(model, state);
    accept(state, params);
    return {};
  }
};

TEST(Bounded, ClampingWouldBeNoticed) {
  const auto model = truncated();
  const Clamping sampler({.leapfrog = 1}, {"step-size", 0.9});
  EXPECT_GT(deviation_in_box(sampler, *model, 1).worst, 3 * kErrors);
}

// Unadjusted steps stay in the box as well, whatever their length.
TEST(Bounded, UnadjustedSamplersStayInside) {
  const auto model = truncated();
  const auto sampler = make_sampler("ula", {.step_size = 3.0}, *model);
  const torch::Tensor ids = torch::arange(100);
  ChainState state = sampler->init(*model, random_states(*model, ids, 2, torch::kCPU), ids);
  StepParams params = sampler->params(5, torch::kCPU);
  for (int64_t t = 0; t < 50; ++t) {
    sampler->step(*model, state, params);
    EXPECT_NO_THROW(require_within(kBox, state.x, "the states"));
  }
  EXPECT_EQ(state.statistics.non_finite.sum().item<int64_t>(), 0);
}

TEST(Bounded, ChainsStartInside) {
  const auto model = truncated();
  const auto sampler = make_sampler("hmc", {}, *model);
  EXPECT_ERROR(
      sampler->init(*model, torch::full({2, 2}, 1.2f), torch::arange(2)),
      "the initial states hold the value 1.2, which is outside of the bounds -0.6 and 1.1");
  AtTemperature hot(model, 2, torch::kCPU);
  EXPECT_EQ(bounds_of(hot), kBox);
  const torch::Tensor x = random_states(hot, torch::arange(1000), 3, torch::kCPU);
  EXPECT_NO_THROW(require_within(kBox, x, "the states"));
  EXPECT_NEAR(x.mean().item<double>(), 0.25, 4 * 1.7 / std::sqrt(12 * 2000.0));
}

}  // namespace
}  // namespace isinglass::bounds_test
