// Annealing and tempering of continuous states start from a normal distribution. Tests cover
// energies and gradients along the path, log Z in closed form, the laws of all rungs, and modes
// between which no chain crosses.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "engine/annealing/tempered_model.h"
#include "engine/run/run.h"
#include "engine/tempering/parallel_tempering.h"
#include "io/error.h"
#include "models/density/gaussian.h"
#include "models/density/gaussian_mixture.h"
#include "tests/engine/annealing/both_ways.h"
#include "tests/support/scratch.h"

namespace isinglass::normal_start_test {
namespace {

using torch::Tensor;

constexpr double kScale = 3;

torch::Generator generator(uint64_t seed) {
  return torch::make_generator<at::CPUGeneratorImpl>(seed);
}

// Two modes with weights .3 and .7 at −4 and 4 of each of three sites, standard deviation 1: log Z
// = 0.
GaussianMixtureModel two_modes() {
  const Tensor at = torch::full({3}, 4.0, torch::kFloat64);
  return {torch::tensor({0.3, 0.7}), torch::stack({-at, at}), torch::ones({2, 3}, torch::kFloat64)};
}

GaussianModel correlated() {
  return {torch::tensor({1.0, -1.0}, torch::kFloat64),
          torch::tensor({{2.0, 0.9}, {0.9, 1.0}}, torch::kFloat64)};
}

// log ∫ exp(−½ (x − m)ᵀ P (x − m)) dx
double correlated_log_z() {
  return std::log(2 * std::numbers::pi) - 0.5 * std::log(2.0 * 1.0 - 0.9 * 0.9);
}

Factorised start_of(const EnergyModel& model, double scale = kScale) {
  return Factorised::normal(model.space().sites, scale, torch::kCPU);
}

TEST(NormalStart, IsNormal) {
  const Factorised start = Factorised::normal(5, kScale, torch::kCPU);
  constexpr int64_t kDraws = 20000;
  const Tensor ids = torch::arange(kDraws);
  Tensor in_step = torch::empty({kDraws, 5});
  start.draw(torch::tensor({7, 3}), ids, in_step);
  for (const Tensor& x : {start.sample(ids, 7), in_step}) {
    const Tensor z = x.to(torch::kFloat64) / kScale;
    EXPECT_LT(z.mean(0).abs().max().item<double>(), 4 / std::sqrt(kDraws));
    EXPECT_LT((z.square().mean(0) - 1).abs().max().item<double>(), 4 * std::sqrt(2.0 / kDraws));
    EXPECT_LT((z.pow(4).mean(0) - 3).abs().max().item<double>(), 4 * std::sqrt(96.0 / kDraws));
    // log p = −Σ (z²/2 + log(s √(2π)))
    EXPECT_NEAR(start.mean_log_likelihood(x),
                -(z.square().sum(1) / 2).mean().item<double>() -
                    5 * std::log(kScale * std::sqrt(2 * std::numbers::pi)),
                1e-9);
  }
  EXPECT_NE(in_step[0][0].item<float>(), start.sample(ids, 7)[0][0].item<float>());
  EXPECT_FALSE(start.uniform());
  EXPECT_ERROR(Factorised::normal(5, 0, torch::kCPU), "must be above 0");
}

// U_β = (1 − β)·‖x‖²/(2s²) + β·U and its gradient, by autograd; after a change of β without a call.
TEST(NormalStart, EnergiesAndGradientsOnTheWay) {
  GaussianMixtureModel model = two_modes();
  const Factorised start = start_of(model);
  const Tensor x = 3 * torch::randn({6, 3}, generator(1)), y = x + 0.5;
  for (const int64_t betas : {1, 6}) {
    TemperedModel path(model, &start, torch::kCPU, TemperedModel::Form::kParts, betas);
    const auto expect_at = [&](const Tensor& states, const Tensor& beta, const Evaluation& found) {
      const Tensor free = states.to(torch::kFloat64).requires_grad_();
      const Tensor u =
          (1 - beta) * free.square().sum(1) / (2 * kScale * kScale) + beta * model.energy(free);
      u.sum().backward();
      EXPECT_TRUE(torch::allclose(found.energy, u.detach(), 1e-12, 1e-12));
      EXPECT_TRUE(torch::allclose(found.gradient.to(torch::kFloat64), free.grad(), 1e-5, 1e-5));
    };
    const Tensor first = torch::linspace(0.2, 1, betas, torch::kFloat64);
    const Tensor second = torch::linspace(0.7, 0, betas, torch::kFloat64);
    path.set_beta(first);
    Evaluation at_x, at_y;
    path.evaluate(x, at_x);
    expect_at(x, first, at_x);
    path.evaluate_moved(x, at_x, y, true, at_y);
    expect_at(y, first, at_y);
    path.set_beta(second);
    path.recombine(at_x);
    expect_at(x, second, at_x);
    path.evaluate(y, at_x);  // into the existing buffers
    expect_at(y, second, at_x);
    Evaluation alone;
    path.evaluate_energy(x, alone);
    EXPECT_TRUE(torch::allclose(path.slope(alone), start.model().energy(x) - model.energy(x), 1e-12,
                                1e-12));
  }
}

TEST(NormalStart, AnnealsToTheLogZThatIsKnown) {
  GaussianModel gaussian = correlated();
  GaussianMixtureModel mixture = two_modes();
  const std::pair<EnergyModel*, double> cases[] = {{&gaussian, correlated_log_z()}, {&mixture, 0}};
  for (const auto& [model, exact] : cases) {
    const Factorised start = start_of(*model);
    // Draws from either mode of the mixture: no chain crosses between them.
    Tensor draws;
    if (model == &mixture) {
      const Tensor right = (torch::rand({200, 1}, generator(2)) < 0.7).to(torch::kFloat32);
      draws = 8 * right - 4 + torch::randn({200, 3}, generator(3));
    }
    for (const char* sampler : {"hmc", "mala"}) {
      SCOPED_TRACE(model->title() + " by " + sampler);
      expect_held(anneal(*model, {.step_size = 0.5}, sampler, start,
                         {.chains = 200,
                          .temperatures = 400,
                          .seed = 5,
                          .reverse = draws.defined() ? ReverseStart{.states = draws}
                                                     : ReverseStart{.longest = 4096}}),
                  exact);
    }
  }
}

// The momenta that a damped trajectory keeps are part of the saved state.
TEST(NormalStart, GoesOnBitForBit) {
  GaussianModel model = correlated();
  const Factorised start = start_of(model);
  const auto sampler = make_sampler("hmc", {.step_size = 0.3, .damping = 0.7}, model);
  const AisOptions options{
      .chains = 6, .temperatures = 60, .seed = 9, .reverse = ReverseStart{.longest = 700}};
  const auto make = [&] {
    return AnnealedImportanceSampling(model, *sampler, start, options, torch::kCPU);
  };
  AnnealedImportanceSampling whole = make();
  const AisResult expected = whole.run();
  for (const int64_t after : {int64_t{5}, int64_t{100}, whole.steps_total() - 7}) {
    SCOPED_TRACE(after);
    AnnealedImportanceSampling first = make();
    ASSERT_FALSE(first.run({}, [&] { return first.steps_done() == after; }).finished);
    AnnealedImportanceSampling second = make();
    second.restore(first.checkpoint());
    expect_same(second.run(), expected);
  }
}

TEST(NormalStart, TakesSamplersThatMoveChainsAloneAndExactly) {
  GaussianModel model = correlated();
  const Factorised start = start_of(model);
  const auto anneal_by = [&](const char* name, const SamplerOptions& options) {
    anneal(model, options, name, start, {.chains = 8, .temperatures = 2});
  };
  const auto temper_by = [&](const char* name, const SamplerOptions& options) {
    ParallelTempering(model, make_sampler(name, options, model), start, {.rungs = 4});
  };
  EXPECT_ERROR(anneal_by("ula", {}), "ula is not exact");
  EXPECT_ERROR(anneal_by("fhl", {}), "fhl pulls the chains of a group towards each other");
  EXPECT_ERROR(temper_by("fhl", {}), "fhl pulls the chains of a group towards each other");
  EXPECT_NO_THROW(anneal_by("fhl", {.pull = 0}));
  EXPECT_NO_THROW(temper_by("fhl", {.pull = 0}));
}

// Ensembles that are tempered, at step 0.
struct Tempered {
  Tempered(EnergyModel& model, const Factorised& start, const char* name,
           const SamplerOptions& options, const TemperingOptions& tempering, int64_t ensembles)
      : path(model, &start, torch::kCPU, TemperedModel::Form::kParts, 2),
        sampler(model, make_sampler(name, options, path), start, tempering),
        state(sampler.init(model, torch::zeros({ensembles, model.space().sites}),
                           torch::arange(ensembles))),
        params(sampler.params(5, torch::kCPU)) {}

  TemperedModel path;
  ParallelTempering sampler;
  ChainState state;
  StepParams params;
};

// From exact draws on all rungs, scans lead to exact draws on all rungs. With a normal target all
// rungs are normal, with precision (1 − β)/s² + β P and a mean with the same weights.
TEST(TemperedNormal, EveryRungKeepsItsLaw) {
  GaussianModel model = correlated();
  const Factorised start = start_of(model);
  constexpr int64_t kEnsembles = 6000, kRungs = 4;
  const std::pair<const char*, SamplerOptions> cases[] = {
      {"mala", {.step_size = 0.6}}, {"hmc", {.step_size = 0.4, .leapfrog = 3, .damping = 0.5}}};
  for (const auto& [name, options] : cases) {
    SCOPED_TRACE(name);
    Tempered t(model, start, name, options, {.rungs = kRungs, .scans = 12}, kEnsembles);
    Tensor x = torch::empty({kEnsembles, kRungs, 2}), law_mean[kRungs], law_covariance[kRungs];
    const Tensor precision = model.named_buffers()["precision"];
    const Tensor mean = model.named_buffers()["mean"];
    for (int64_t i = 0; i < kRungs; ++i) {
      const double beta = static_cast<double>(i) / (kRungs - 1);
      const Tensor of_rung =
          (1 - beta) / (kScale * kScale) * torch::eye(2, torch::kFloat64) + beta * precision;
      law_covariance[i] = torch::inverse(of_rung);
      law_mean[i] = law_covariance[i].mv(beta * precision.mv(mean));
      const Tensor factor = torch::linalg_cholesky(law_covariance[i]);
      x.select(1, i).copy_(
          torch::randn({kEnsembles, 2}, generator(10 + i), torch::kFloat64).matmul(factor.t()) +
          law_mean[i]);
    }
    t.sampler.set_rung_states(t.state, x);
    for (int scan = 0; scan < 12; ++scan) t.sampler.step(model, t.state, t.params);
    const Tensor after = t.sampler.rung_states(t.state).to(torch::kFloat64);
    EXPECT_FALSE(torch::equal(after.select(1, kRungs - 1), x.select(1, kRungs - 1)));
    for (int64_t i = 0; i < kRungs; ++i) {
      // Means of z and z_a z_b for z ~ N(0, I) (standard deviations 1; √2 on the diagonal and 1 off
      // it).
      const Tensor inverse_factor = torch::inverse(torch::linalg_cholesky(law_covariance[i]));
      const Tensor z = (after.select(1, i) - law_mean[i]).matmul(inverse_factor.t());
      const double error = 1 / std::sqrt(static_cast<double>(kEnsembles));
      EXPECT_LT(z.mean(0).abs().max().item<double>(), 4 * error) << i;
      const Tensor off = z.t().matmul(z) / kEnsembles - torch::eye(2, torch::kFloat64);
      EXPECT_LT(off.abs().max().item<double>(), 4 * std::sqrt(2.0) * error) << i;
    }
    const TemperingReport report = t.sampler.report(t.state, t.params);
    EXPECT_GT(*std::min_element(report.rejection.begin(), report.rejection.end()), 0.05);
    EXPECT_LT(*std::max_element(report.rejection.begin(), report.rejection.end()), 0.95);
  }
}

// Chains reach both modes with the right weights, whereas single chains stay in the mode in which
// they began; log Z = 0.
TEST(TemperedNormal, CrossesBetweenModes) {
  GaussianMixtureModel model = two_modes();
  const Factorised start = start_of(model);
  constexpr int64_t kEnsembles = 40, kScans = 800;
  const TemperingOptions options{.rungs = std::nullopt, .scans = kScans};
  Tempered t(model, start, "hmc", {.adapt = true}, options, kEnsembles);
  run(model, t.sampler, t.state, t.params, {.burn_in = 200, .steps = 0}, {});
  Tensor right = torch::zeros({kEnsembles}, torch::kFloat64);
  for (int64_t scan = 0; scan < kScans; ++scan) {
    t.sampler.step(model, t.state, t.params);
    right += (t.state.x.sum(1) > 0).to(torch::kFloat64) / kScans;
  }
  const double error = (right.std() / std::sqrt(kEnsembles)).item<double>();
  EXPECT_LT(error, 0.03);
  EXPECT_NEAR(right.mean().item<double>(), 0.7, 3 * error);
  const TemperingReport report = t.sampler.report(t.state, t.params);
  EXPECT_GT(report.round_trips, 10);
  EXPECT_NEAR(report.log_z.value, 0, 3 * report.log_z.standard_error);
  EXPECT_LT(report.log_z.standard_error, 0.05);

  const auto alone = make_sampler("hmc", {.step_size = 0.5}, model);
  ChainState chains = alone->init(model, torch::full({40, 3}, 4.0f), torch::arange(40));
  StepParams params = alone->params(5, torch::kCPU);
  for (int step = 0; step < 800; ++step) alone->step(model, chains, params);
  EXPECT_TRUE((chains.x.sum(1) > 0).all().item<bool>());
}

}  // namespace
}  // namespace isinglass::normal_start_test
