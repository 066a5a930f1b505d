// Bennett's ratio against known normalisers, and tests that its standard errors have the right
// size.
#include "engine/tempering/bennett.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"
#include "engine/run/run.h"
#include "engine/tempering/ladder_path.h"
#include "engine/tempering/parallel_tempering.h"
#include "models/lattice/ising.h"
#include "models/network/rbm.h"

namespace isinglass::bennett_test {
namespace {

torch::Generator generator(uint64_t seed) {
  return torch::make_generator<at::CPUGeneratorImpl>(seed);
}

// Returns the differences of U_β = U_0 + β V between neighbouring rungs, for draws of V [S, C, R].
torch::Tensor delta_u(const torch::Tensor& v, const std::vector<double>& betas) {
  const auto pairs = static_cast<int64_t>(betas.size()) - 1;
  const torch::Tensor step = torch::tensor(betas, torch::kFloat64).diff();
  return torch::stack({step * v.slice(2, 0, pairs), step * v.slice(2, 1)}, 3);
}

// One site x ∈ R, U_0 = x²/2, U = (x − m)²/2 + b: V = −m x + m²/2 + b; log Z/Z_0 = −b.
TEST(Bennett, TwoGaussians) {
  const double m = 1.5, b = 0.7;
  const auto real = torch::TensorOptions(torch::kFloat64);
  const auto v = [&](const torch::Tensor& x) { return -m * x + m * m / 2 + b; };
  const torch::Tensor lower = v(torch::randn({20000}, generator(1), real));
  const torch::Tensor upper = v(torch::randn({20000}, generator(2), real) + m);
  const auto log_z = [&](double constant) {
    const torch::Tensor rungs = torch::stack({lower + constant, upper + constant}, 1);
    return log_z_of_rungs(delta_u(rungs.view({20000, 1, 2}), {0, 1}), 2);
  };
  const LogZ alone = log_z(0);
  // A constant in V is subtracted exactly.
  EXPECT_NEAR(log_z(1e4).value, alone.value - 1e4, 1e-6);
  EXPECT_NEAR(alone.value, 2 - b, 0.03);
  EXPECT_TRUE(std::isnan(alone.standard_error));
}

TEST(Bennett, UndefinedWithoutDraws) {
  const LogZ none = log_z_of_rungs(torch::zeros({0, 8, 2, 2}, torch::kFloat64), 0);
  EXPECT_TRUE(std::isnan(none.value));
}

// Normal draws for every rung, independent or repeated ten times. Over seeds, the errors have the
// size that the jackknife gives, with repeated draws as well as without, over ensembles and over
// groups of them.
TEST(Bennett, StandardErrorsKnowOfDrawsThatDependOnEachOther) {
  const std::vector<double> betas = {0, 0.5, 1};
  struct Draws {
    int64_t fresh, repeats, ensembles;
  };
  for (const auto& [fresh, repeats, ensembles] :
       {Draws{40, 1, 12}, Draws{40, 10, 12}, Draws{2, 10, 230}}) {
    std::vector<double> standardised, lower, upper, lower_se, upper_se;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const torch::Tensor x = torch::randn({fresh, ensembles, 3}, generator(seed), torch::kFloat64)
                                  .repeat_interleave(repeats, 0);
      torch::Tensor v = torch::empty_like(x);  // U_0 = x²/2, V = x²/2: β is a variance of 1/(1 + β)
      for (int64_t i = 0; i < 3; ++i) {
        v.select(2, i) = (x.select(2, i) / std::sqrt(1 + betas[i])).square() / 2;
      }
      const LogZ estimate = log_z_of_rungs(delta_u(v, betas), 0);
      standardised.push_back((estimate.value + 0.5 * std::log(2.0)) / estimate.standard_error);
      lower.push_back(estimate.lower);
      upper.push_back(estimate.upper);
      lower_se.push_back(estimate.lower_se);
      upper_se.push_back(estimate.upper_se);
    }
    // The bounds are biased, so that their errors are compared with their own spread.
    const auto ratio = [](const std::vector<double>& values, const std::vector<double>& errors) {
      const auto real = torch::kFloat64;
      return (torch::tensor(values, real).std() / torch::tensor(errors, real).mean())
          .item<double>();
    };
    for (const double spread : {ratio(lower, lower_se), ratio(upper, upper_se)}) {
      EXPECT_GT(spread, 0.7) << repeats << " " << ensembles;
      EXPECT_LT(spread, 1.4) << repeats << " " << ensembles;
    }
    const double deviation = torch::tensor(standardised, torch::kFloat64).std().item<double>();
    EXPECT_GT(deviation, 0.7) << repeats << " " << ensembles;
    EXPECT_LT(deviation, 1.4) << repeats << " " << ensembles;
  }
}

// Returns log Σ exp(−U) over all 2^D states.
double enumerated_log_z(EnergyModel& model) {
  const int64_t sites = model.space().sites;
  const torch::Tensor number = torch::arange(int64_t{1} << sites).view({-1, 1});
  const torch::Tensor x =
      number.bitwise_right_shift(torch::arange(sites)).bitwise_and(1).to(torch::kUInt8);
  return torch::logsumexp(-model.energy(x).to(torch::kFloat64), 0).item<double>();
}

LogZ tempered_log_z(EnergyModel& model, const char* sampler, const SamplerOptions& sampler_options,
                    TemperingOptions options, int64_t ensembles, uint64_t seed) {
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  const auto path = make_ladder_path(options.path, model, start, torch::kCPU, 2);
  const ParallelTempering tempering(model, make_sampler(sampler, sampler_options, path->model()),
                                    start, options);
  ChainState state =
      tempering.init(model, torch::zeros({ensembles, model.space().sites}, torch::kUInt8),
                     torch::arange(ensembles));
  StepParams params = tempering.params(seed, torch::kCPU);
  run(model, tempering, state, params, {.burn_in = 60, .steps = options.scans}, {});
  return tempering.report(state, params).log_z;
}

IsingModel square(int64_t side, double coupling, double field) {
  std::vector<int64_t> ends;
  for (int64_t r = 0; r < side; ++r) {
    for (int64_t c = 0; c < side; ++c) {
      if (c + 1 < side) ends.insert(ends.end(), {r * side + c, r * side + c + 1});
      if (r + 1 < side) ends.insert(ends.end(), {r * side + c, (r + 1) * side + c});
    }
  }
  const torch::Tensor edges = torch::tensor(ends).view({-1, 2});
  return {edges, torch::full({edges.size(0)}, coupling, torch::kFloat64),
          torch::full({side * side}, field, torch::kFloat64)};
}

// Uses 40 seeds, so that a bias of a third of a standard error would show, too.
TEST(TemperedLogZ, IsExactAndItsErrorsAreHonest) {
  IsingModel model = square(3, 0.6, 0.1);
  const double exact = enumerated_log_z(model);
  std::vector<double> standardised;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const LogZ estimate = tempered_log_z(model, "gwg", {}, {.rungs = 4, .scans = 60}, 10, seed);
    standardised.push_back((estimate.value - exact) / estimate.standard_error);
  }
  const torch::Tensor z = torch::tensor(standardised, torch::kFloat64);
  EXPECT_GT(z.std().item<double>(), 0.7);
  EXPECT_LT(z.std().item<double>(), 1.4);
  EXPECT_LT(std::abs(z.mean().item<double>()), 3 / std::sqrt(40.0));
}

TEST(TemperedLogZ, OfAnRbm) {
  const torch::Tensor w = torch::randn({10, 14}, generator(5), torch::kFloat32);
  RbmModel model(w, torch::linspace(-1, 1, 14), torch::linspace(-0.5, 0.5, 10));
  const double exact = enumerated_log_z(model);
  for (const char* sampler : {"pafs", "dlp", "rwm"}) {
    const LogZ estimate =
        tempered_log_z(model, sampler, {}, {.rungs = 6, .exploration = 2, .scans = 300}, 10, 4);
    EXPECT_NEAR(estimate.value, exact, 3 * estimate.standard_error) << sampler;
    EXPECT_LT(estimate.standard_error, 0.2) << sampler;
  }
  const TemperingOptions joint{.rungs = 6, .scans = 300, .path = PathKind::kJoint};
  const LogZ swept = tempered_log_z(model, "gibbs", {.scan = Scan::kChromatic}, joint, 10, 4);
  EXPECT_NEAR(swept.value, exact, 3 * swept.standard_error);
  EXPECT_LT(swept.standard_error, 0.2);
}

}  // namespace
}  // namespace isinglass::bennett_test
