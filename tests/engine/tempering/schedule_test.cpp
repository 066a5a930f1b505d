// The arithmetic of the schedule, and its adaptation in burn-in.
#include "engine/tempering/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/tempered_model.h"
#include "engine/registry.h"
#include "engine/run/run.h"
#include "engine/tempering/parallel_tempering.h"
#include "io/error.h"
#include "models/full_precision.h"
#include "models/lattice/bernoulli.h"
#include "models/lattice/ising.h"
#include "models/registry.h"

namespace isinglass::schedule_test {
namespace {

TEST(MonotoneCubic, GoesThroughItsPointsAndNeverFalls) {
  const std::vector<double> x = {0, 0.1, 0.15, 0.6, 0.9, 1}, y = {0, 0, 2, 2.5, 2.5, 7};
  const MonotoneCubic cubic(x, y);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(cubic(x[i]), y[i], 1e-12);
  double last = 0;
  for (int n = 0; n <= 1000; ++n) {
    const double at = cubic(n / 1000.0);
    EXPECT_GE(at, last - 1e-12);
    last = at;
  }
  for (const double level : {0.3, 1.9, 2.2, 5.0}) {
    EXPECT_NEAR(cubic(cubic.inverse(level)), level, 1e-9);
  }
}

TEST(MonotoneCubic, OfALineIsTheLine) {
  const MonotoneCubic line({0, 0.2, 0.7, 1}, {0, 0.4, 1.4, 2});
  for (const double x : {0.05, 0.33, 0.81}) EXPECT_NEAR(line(x), 2 * x, 1e-12);
}

// Λ(β) = β², whose differences are the rejections: the new rungs are at √(i/(R − 1)).
TEST(Schedule, MovesRungsToEqualBarriers) {
  const std::vector<double> old = equidistant_schedule(41);
  std::vector<double> rejection;
  for (size_t i = 0; i + 1 < old.size(); ++i) {
    rejection.push_back(old[i + 1] * old[i + 1] - old[i] * old[i]);
  }
  EXPECT_NEAR(barrier(rejection), 1, 1e-12);
  const std::vector<double> betas = equal_barrier_schedule(old, rejection, 6);
  ASSERT_EQ(betas.size(), 6u);
  EXPECT_EQ(betas.front(), 0);
  EXPECT_EQ(betas.back(), 1);
  for (int i = 1; i < 5; ++i) EXPECT_NEAR(betas[i], std::sqrt(i / 5.0), 2e-3);
  EXPECT_EQ(equal_barrier_schedule({0, 1}, {0}, 3), equidistant_schedule(3));
}

TEST(Schedule, Rates) {
  EXPECT_NEAR(predicted_round_trip_rate({0.5, 0.5}), 1.0 / 6, 1e-12);
  EXPECT_NEAR(best_round_trip_rate(1), 0.25, 1e-12);
  EXPECT_EQ(rungs_for(0), 2);
  EXPECT_EQ(rungs_for(1.2), 4);
}

// Independent sites of one energy ±b: sweeps draw V afresh.
struct Independent {
  static constexpr int64_t kSites = 12;
  BernoulliModel model{torch::linspace(-4, 5, kSites, torch::kFloat64)};
  Factorised start = Factorised::uniform(model.space(), torch::kCPU);

  ParallelTempering tempering(TemperingOptions options) {
    TemperedModel tempered(model, &start, torch::kCPU, TemperedModel::Form::kParts, 2);
    options.exploration = kSites;
    return {model, make_sampler("gibbs", {.scan = Scan::kSystematic}, tempered), start, options};
  }
};

struct Done {
  ChainState state;
  StepParams params;
  TemperingReport report;
  RunResult result;
};

Done run_tempering(const ParallelTempering& tempering, EnergyModel& model, int64_t ensembles,
                   int64_t burn_in, int64_t scans) {
  Done run;
  run.state = tempering.init(model, torch::zeros({ensembles, model.space().sites}, torch::kUInt8),
                             torch::arange(ensembles));
  run.params = tempering.params(3, torch::kCPU);
  run.result = isinglass::run(model, tempering, run.state, run.params,
                              {.burn_in = burn_in, .steps = scans}, {});
  run.report = tempering.report(run.state, run.params);
  return run;
}

TEST(Tempering, RoundTripsComeAtThePredictedRate) {
  Independent independent;
  const auto tempering = independent.tempering({.rungs = 6, .scans = 1500});
  const Done run = run_tempering(tempering, independent.model, 32, 120, 1500);
  const TemperingReport& report = run.report;
  EXPECT_EQ(report.scans, 1500);
  EXPECT_GT(report.round_trips, 50);
  EXPECT_NEAR(report.round_trip_rate, report.predicted_rate, 3 * report.round_trip_se);
  EXPECT_LT(report.round_trip_se, 0.05 * report.predicted_rate);
  EXPECT_LT(report.predicted_rate, report.best_rate);
  // Equal rejection rates, after an equidistant start at which they are not.
  const auto [least, most] = std::minmax_element(report.rejection.begin(), report.rejection.end());
  EXPECT_LT(*most - *least, 0.1);
  EXPECT_GT(report.betas[1], 0.01);
  EXPECT_LT(report.betas[1], 0.19);
  // The history consists of permutations.
  EXPECT_EQ(report.history.size(1), 6);
  const torch::Tensor sorted = std::get<0>(report.history.to(torch::kInt64).sort(1));
  EXPECT_TRUE(torch::equal(sorted, torch::arange(6).expand_as(sorted)));
  // log Z of independent sites is known; its error is small.
  const double exact =
      torch::softplus(-torch::linspace(-4, 5, 12, torch::kFloat64)).sum().item<double>();
  EXPECT_NEAR(report.log_z.value, exact, 4 * report.log_z.standard_error);
  EXPECT_LT(report.log_z.standard_error, 0.05);
}

// Rungs are added and removed in burn-in, and scales adapt; captured steps follow these changes.
TEST(TemperingGpu, CapturedBurnInMakesTheSameChains) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const FullPrecision full;
  const auto states = [](bool cuda_graph) {
    const auto model = new_model("resnet", {.image_height = 8, .image_width = 8, .channels = 4}, 1);
    for (torch::Tensor& p : model->parameters()) p.data().mul_(2);  // more than one rung
    model->to(torch::kCUDA);
    const Factorised start = Factorised::uniform(model->space(), torch::kCUDA);
    TemperedModel tempered(*model, &start, torch::kCUDA, TemperedModel::Form::kParts, 2);
    const ParallelTempering tempering(
        *model,
        make_sampler("pafs", {.radius = 2, .target_acceptance = 0.574, .adapt = true}, tempered),
        start, {.scans = 8, .cuda_graph = cuda_graph});
    ChainState state = tempering.init(*model, torch::zeros({6, 64}, torch::kUInt8).cuda(),
                                      torch::arange(6).cuda());
    StepParams params = tempering.params(3, torch::kCUDA);
    run(*model, tempering, state, params, {.burn_in = 70, .steps = 8}, {});
    return tempering.rung_states(state).cpu();
  };
  const torch::Tensor captured = states(true), one_by_one = states(false);
  EXPECT_TRUE(torch::equal(captured, one_by_one))
      << captured.sizes() << " captured, " << one_by_one.sizes() << " one by one";
}

TEST(Tempering, FindsTheNumberOfRungsThatTheBarrierAsksFor) {
  Independent independent;
  const auto tempering = independent.tempering({.scans = 50});
  const Done run = run_tempering(tempering, independent.model, 16, 130, 50);
  const TemperingReport& report = run.report;
  const auto rungs = static_cast<double>(report.betas.size());
  EXPECT_NEAR(rungs, 2 * report.barrier + 1, 1.5);
  EXPECT_EQ(run.result.steps, 50);
}

// After burn-in nothing adapts. The step behaves as that of any sampler: it is reproducible, and
// cached values equal recomputed ones.
TEST(Tempering, StatesAndEnergiesAreThoseAtBetaOne) {
  Independent independent;
  const auto tempering = independent.tempering({.rungs = 4, .scans = 20});
  const Done run = run_tempering(tempering, independent.model, 8, 16, 20);
  EXPECT_LT((independent.model.energy(run.state.x).to(torch::kFloat64) - run.state.current.energy)
                .abs()
                .max()
                .item<double>(),
            1e-9);
  const Done again = run_tempering(tempering, independent.model, 8, 16, 20);
  EXPECT_TRUE(torch::equal(run.state.x, again.state.x));
  EXPECT_GT(run.result.hops, 0);
  EXPECT_EQ(run.result.acceptance, 1);  // Gibbs draws are always accepted
  // All rungs' model calls, and one at the reference in every second scan.
  EXPECT_EQ(run.result.energy_evaluations, 20 * 4 * Independent::kSites + 10);
}

TEST(Tempering, ScalesAdaptOnEveryRung) {
  Independent independent;
  TemperedModel tempered(independent.model, &independent.start, torch::kCPU,
                         TemperedModel::Form::kParts, 2);
  auto local = make_sampler("dlp", {.adapt = true}, tempered);
  const ParallelTempering tempering(independent.model, std::move(local), independent.start,
                                    {.rungs = 4, .exploration = 2, .scans = 200});
  const Done run = run_tempering(tempering, independent.model, 16, 400, 200);
  for (size_t i = 2; i < 4; ++i) EXPECT_NEAR(run.report.acceptance[i], 0.574, 0.1) << "rung " << i;
  // A flatter target takes larger steps, and accepts the largest ones more often than the target
  // rate.
  EXPECT_GT(run.report.scales[1][0], 1.2 * run.report.scales[3][0]);
  // Rung 0 has exact draws: its steps are as cheap as the target's.
  EXPECT_EQ(run.report.scales[0][0], run.report.scales[3][0]);
}

// The chains' energies are those of the target that tempering was made for.
TEST(Tempering, StepsOnItsOwnTargetAlone) {
  Independent independent, other;
  const auto tempering = independent.tempering({.rungs = 4, .scans = 20});
  const torch::Tensor ids = torch::arange(2);
  ChainState state =
      tempering.init(independent.model, torch::zeros({2, Independent::kSites}, torch::kUInt8), ids);
  StepParams params = tempering.params(0, torch::kCPU);
  EXPECT_NO_THROW(tempering.step(independent.model, state, params));
  EXPECT_THROW(tempering.step(other.model, state, params), c10::Error);
}

TEST(Tempering, RefusesWhatCannotBeTempered) {
  Independent independent;
  const auto with = [&](const char* name, const SamplerOptions& sampler, TemperingOptions options) {
    TemperedModel tempered(independent.model, &independent.start, torch::kCPU,
                           TemperedModel::Form::kParts, 2);
    const ParallelTempering made(independent.model, make_sampler(name, sampler, tempered),
                                 independent.start, options);
  };
  EXPECT_THROW(with("gibbs", {}, {.rungs = 1}), Error);
  EXPECT_THROW(with("gibbs", {}, {.rungs = 20, .most_rungs = 10}), Error);
  EXPECT_THROW(with("gibbs", {}, {.exploration = 0}), Error);
  EXPECT_THROW(with("lsb-1", {}, {}), Error);
  EXPECT_THROW(with("ab-1st", {}, {}), Error);
  EXPECT_NO_THROW(with("ab-1st", {.sigma = 1, .alpha = 0.5}, {}));
}

}  // namespace
}  // namespace isinglass::schedule_test
