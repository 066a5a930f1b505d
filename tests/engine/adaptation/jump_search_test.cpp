// The search for long jumps: on functions whose maximum is known, and on targets against a grid
// over (σ, α).
#include "engine/adaptation/jump_search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "engine/sampler.h"
#include "models/instances/instances.h"

namespace isinglass::jump_search_test {
namespace {

using Values = JumpSearch::Values;

torch::Tensor number(double value) {
  return torch::full({}, value, torch::kFloat64);
}

// Runs a search whose jumps are given by a function; the noise is relative.
JumpSearch searched(Values start, int steps, const std::function<double(Values)>& jump,
                    double noise = 0, double acceptance = 0) {
  JumpSearch search(start);
  const auto generator = torch::make_generator<at::CPUGeneratorImpl>(3);
  const torch::Tensor normal = torch::randn({steps}, generator, torch::kFloat64);
  for (int t = 0; t < steps; ++t) {
    search.record(jump(search.trial()) * (1 + noise * normal[t]), number(acceptance));
  }
  return search;
}

// Jumps that decrease by e^(−1/2) at a factor e^width of σ, and as fast in α if that is width/4.
std::function<double(Values)> peak_at(double sigma, double alpha, double width) {
  return [=](Values v) {
    return std::exp(-0.5 * std::pow(std::log(v[0] / sigma) / width, 2) -
                    0.5 * std::pow(4 * (v[1] - alpha) / width, 2));
  };
}

TEST(JumpSearch, FindsAPeakOnAndOffTheRidge) {
  for (const auto& [sigma, alpha] : {std::pair{0.25, 0.61}, {3.0, 0.9}, {3.0, 0.7}, {0.05, 0.52}}) {
    for (const double noise : {0.0, 0.3}) {
      SCOPED_TRACE(fmt::format("sigma {} alpha {} noise {}", sigma, alpha, noise));
      const auto jump = peak_at(sigma, alpha, 1);
      const JumpSearch search = searched({0.1, 0.5}, 1500, jump, noise);
      EXPECT_GT(jump(search.best()), noise > 0 ? 0.9 : 0.95);
      EXPECT_TRUE(search.converged());
    }
  }
}

TEST(JumpSearch, GoesToTheLimitWhereJumpsOnlyGrow) {
  const JumpSearch search =
      searched({0.1, 0.5}, 1500, [](Values v) { return v[1] * std::exp(-1 / v[0]); });
  EXPECT_GT(search.best()[0], 100);
  EXPECT_GT(search.best()[1], 0.95);
  EXPECT_LE(search.best()[1], 1);
}

// A start at which every proposal is refused.
TEST(JumpSearch, ShortensStepsThatAllFail) {
  const JumpSearch search =
      searched({10, 0.9}, 1500, [](Values v) { return v[0] > 0.3 ? 0.0 : v[0]; });
  EXPECT_GT(search.best()[0], 0.1);
  EXPECT_LE(search.best()[0], 0.3);
}

// A start at which no site is ever proposed to move.
TEST(JumpSearch, LengthensStepsThatStandStill) {
  const auto jump = [](Values v) { return v[0] < 0.15 ? 0.0 : v[0] / (1 + v[0] * v[0]); };
  const JumpSearch search = searched({0.02, 0.5}, 1500, jump, 0, 1);
  EXPECT_GT(jump(search.best()), 0.45);  // 1/2 at most
}

TEST(JumpSearch, KeepsItsStartWithoutARound) {
  JumpSearch search({0.1, 0.5});
  for (int t = 1; t < JumpSearch::kSteps; ++t) search.record(number(1), number(1));
  EXPECT_EQ(search.rounds(), 0);
  EXPECT_FALSE(search.converged());
  EXPECT_EQ(search.best(), (Values{0.1, 0.5}));
}

// The search is still far from the maximum when its steps end, and must not report convergence.
TEST(JumpSearch, HasNotSettledOnTheWay) {
  const auto jump = peak_at(1000, 0.999, 1);
  const JumpSearch search = searched({0.1, 0.5}, 2 * JumpSearch::kSteps, jump);
  EXPECT_GT(search.rounds(), 0);
  EXPECT_LT(jump(search.best()), 0.5);
  EXPECT_FALSE(search.converged());
}

// The first arm is the middle, so that the search tries exactly the start first.
TEST(JumpSearch, BeginsAtItsStart) {
  for (const Values start : {Values{0.1, 0.6}, {2.0, 0.9}, {50.0, 0.999}, {0.02, 0.5001}}) {
    const JumpSearch search(start);
    EXPECT_NEAR(search.trial()[0] / start[0], 1, 1e-9);
    EXPECT_NEAR(search.trial()[1], start[1], 1e-9);
  }
}

struct Jump {
  double mean, error;
};

class JumpGrid {
 public:
  JumpGrid(EnergyModel& model, const Sampler& sampler, ChainState& state)
      : model_(model), sampler_(sampler), state_(state), params_(sampler.params(99, torch::kCPU)) {}

  // Measures the mean |Δx|₁ at (σ, α) over so many steps; the chains continue from their states.
  Jump measure(Values values, int steps) {
    params_.scale.copy_(torch::tensor({values[0], values[1]}, torch::kFloat64));
    torch::Tensor sum = torch::zeros({state_.chains()}, torch::kFloat64);
    for (int t = 0; t < steps; ++t) {
      const torch::Tensor before = state_.x.to(torch::kInt16);
      sampler_.step(model_, state_, params_);
      sum += (state_.x.to(torch::kInt16) - before).abs().sum(1).to(torch::kFloat64);
    }
    sum /= steps;
    return {sum.mean().item<double>(),
            sum.std().item<double>() / std::sqrt(static_cast<double>(state_.chains()))};
  }

  // Returns the best of a coarse grid over all scales, refined twice and measured again.
  Jump best() {
    Values middle{};
    double longest = -1;
    const auto consider = [&](double sigma, double alpha, int steps) {
      const double jump = measure({sigma, alpha}, steps).mean;
      if (jump > longest) {
        longest = jump;
        middle = {sigma, alpha};
      }
    };
    for (double log_sigma = -4; log_sigma <= 10; ++log_sigma) {
      for (int a = 6; a <= 20; ++a) consider(std::exp2(log_sigma), 0.05 * a, 20);
    }
    for (const double finer : {0.5, 0.25}) {
      const Values at = middle;
      longest = -1;
      for (int i = -2; i <= 2; ++i) {
        for (int j = -2; j <= 2; ++j) {
          consider(at[0] * std::exp2(finer * i), std::min(1.0, at[1] + 0.05 * finer * j), 60);
        }
      }
    }
    return measure(middle, 400);
  }

 private:
  EnergyModel& model_;
  const Sampler& sampler_;
  ChainState& state_;
  StepParams params_;
};

// After 3000 steps of burn-in, jumps are within 10 % of the grid's best.
void expect_near_grid(const std::string& instance, const std::string& name, int64_t chains) {
  SCOPED_TRACE(fmt::format("{} {} {} chains", instance, name, chains));
  torch::NoGradGuard no_grad;
  const int64_t burn_in = 3000, measured = 20;
  const auto model = make_instance(instance);
  const auto sampler = make_sampler(name, {}, *model);
  const torch::Tensor ids = torch::arange(chains);
  ChainState state = sampler->init(*model, random_states(model->space(), ids, 1, torch::kCPU), ids);
  StepParams params = sampler->params(1, torch::kCPU);
  for (int64_t t = 0; t < burn_in; ++t) {
    sampler->warmup()->burn_in_step(*model, state, params, t, burn_in);
  }
  const Values found{params.scale[0].item<double>(), params.scale[1].item<double>()};
  const torch::Tensor again = torch::arange(measured);
  ChainState fresh =
      sampler->init(*model, state.x.index_select(0, again.remainder(chains)).contiguous(), again);
  sampler->warmup()->restore(fresh, sampler->warmup()->learned(state));
  JumpGrid grid(*model, *sampler, fresh);
  grid.measure(found, 200);
  const Jump best = grid.best(), reached = grid.measure(found, 400);
  fmt::print(
      "{} {} {} chains: sigma {:.4g} alpha {:.4g}, jumps of {:.2f} ± {:.2f}, grid {:.2f} ± "
      "{:.2f}\n",
      instance, name, chains, found[0], found[1], reached.mean, reached.error, best.mean,
      best.error);
  EXPECT_GT(
      reached.mean + 3 * std::sqrt(std::pow(reached.error, 2) + std::pow(0.9 * best.error, 2)),
      0.9 * best.mean);
}

TEST(JumpSearch, ComesNearAGrid) {
  for (const char* name : {"ab-1st", "ab-trace"}) {
    expect_near_grid("ising-grid:side=6,coupling=0.4407", name, 5);
  }
}

const char* const kLattice = "ising-grid:side=20,coupling=0.4407";
const char* const kScaleFree = "ising-scale-free:coupling=0.4407";
const char* const kEasy = "bernoulli:sites=100";

TEST(JumpSearchLong, ComesNearAGridWithTenChains) {
  for (const char* name : {"ab-1st", "ab-shift", "ab-max", "ab-trace"}) {
    for (const char* instance : {kLattice, kScaleFree, kEasy}) expect_near_grid(instance, name, 10);
  }
}

TEST(JumpSearchLong, ComesNearAGridWithManyChains) {
  for (const char* name : {"ab-1st", "ab-shift", "ab-max", "ab-trace"}) {
    for (const char* instance : {kLattice, kScaleFree, kEasy})
      expect_near_grid(instance, name, 100);
  }
}

// The target has wells of a hundred values, and W averages over curvatures that differ from place
// to place.
TEST(JumpSearchLong, ComesNearAGridOnOrderedValues) {
  for (const char* name : {"ab-1st", "ab-shift", "ab-max", "ab-trace"}) {
    for (const char* instance : {"quartic-mixture", "lattice-gaussian-cycle:l=10"}) {
      expect_near_grid(instance, name, 10);
    }
  }
}

}  // namespace
}  // namespace isinglass::jump_search_test
