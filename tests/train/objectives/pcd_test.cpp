// The gradient of persistent contrastive divergence against exact references.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"
#include "io/error.h"
#include "kernels/random/streams.h"
#include "models/full_precision.h"
#include "models/lattice/ising.h"
#include "models/registry.h"
#include "tests/support/ranks_of_threads.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd_objective.h"

namespace isinglass::pcd_test {
namespace {

torch::Tensor flat_gradient(const torch::Tensor& loss, EnergyModel& model) {
  model.zero_grad();
  loss.backward();
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& p : model.parameters()) parts.push_back(p.grad().flatten());
  return torch::cat(parts).to(torch::kFloat64).clone();
}

// Per-state gradients ∂U/∂θ over all states, float64 [2^D, parameters].
torch::Tensor energy_gradients(EnergyModel& model, const torch::Tensor& states) {
  std::vector<torch::Tensor> rows;
  for (int64_t n = 0; n < states.size(0); ++n) {
    rows.push_back(flat_gradient(model.energy(states.narrow(0, n, 1)).sum(), model));
  }
  return torch::stack(rows);
}

void expect_likelihood_gradient(EnergyModel& model) {
  const torch::Tensor states = all_states(9), data = bars_and_stripes(3).train;
  const torch::Tensor nll = model.energy(data).to(torch::kFloat64).mean() +
                            (-model.energy(states).to(torch::kFloat64)).logsumexp(0);
  const torch::Tensor exact = flat_gradient(nll, model);

  constexpr int64_t kSamples = 100000;
  const torch::Tensor p = torch::softmax(-model.energy(states).detach().to(torch::kFloat64), 0);
  torch::Generator generator = torch::make_generator<at::CPUGeneratorImpl>(11);
  const torch::Tensor chains = states.index_select(0, p.multinomial(kSamples, true, generator));
  const torch::Tensor pcd = flat_gradient(pcd_loss(model, data, chains, {}).loss, model);

  // Var_π(∂U/∂θ) by enumeration gives every component's standard error.
  const torch::Tensor g = energy_gradients(model, states), weight = p.unsqueeze(1);
  const torch::Tensor mean = (weight * g).sum(0);
  const torch::Tensor error = ((weight * (g - mean).square()).sum(0) / kSamples).sqrt();
  // Rounding of float32 sums of 1e5 terms of size up to |g| adds at most 1e-4·max|g|.
  const torch::Tensor bound = 5 * error + 1e-4 * g.abs().amax(0);
  EXPECT_TRUE(((pcd - exact).abs() <= bound).all().item<bool>())
      << "largest deviation in units of the bound: "
      << ((pcd - exact).abs() / bound).max().item<double>();
  // The bound is tight enough to see a sign error or a missing term.
  EXPECT_GT(exact.norm().item<double>(), 10 * bound.norm().item<double>());
}

TEST(PcdTest, GradientIsThatOfTheEnumeratedLikelihoodSine) {
  SineModel model(9);
  expect_likelihood_gradient(model);
}

TEST(PcdTest, GradientIsThatOfTheEnumeratedLikelihoodRbm) {
  const auto model = new_model("rbm", {.image_height = 3, .image_width = 3, .hidden = 5}, 1);
  torch::NoGradGuard no_grad;
  torch::manual_seed(2);
  for (torch::Tensor& p : model->parameters()) p.copy_(0.7 * torch::randn_like(p));
  torch::AutoGradMode with_grad(true);
  expect_likelihood_gradient(*model);
}

TEST(PcdTest, GradientIsThatOfTheEnumeratedLikelihoodIsing) {
  for (const EdgeSet set : {EdgeSet::kAll, EdgeSet::kTorus}) {
    const auto model = new_model(
        "ising",
        {.image_height = 3, .image_width = 3, .base_mean = torch::full({9}, 0.4), .edges = set}, 1);
    {
      torch::NoGradGuard no_grad;
      for (torch::Tensor& p : model->parameters()) {
        p.add_(0.2 * torch::sin(1.7 * torch::arange(p.numel(), torch::kFloat64)));
      }
    }
    expect_likelihood_gradient(*model);
  }
}

// l1 adds its subgradient to the couplings alone: l1·sign(J), and nothing at 0.
TEST(PcdTest, AbsoluteCouplingsHaveTheirSubgradient) {
  const auto model = new_model(
      "ising", {.image_height = 3, .image_width = 3, .base_mean = torch::full({9}, 0.4)}, 1);
  const torch::Tensor coupling = model->named_parameters()["coupling"];
  {
    torch::NoGradGuard no_grad;
    coupling.copy_(torch::arange(36, torch::kFloat64).remainder(3) - 1);
  }
  const torch::Tensor data = bars_and_stripes(3).train, chains = all_states(9).narrow(0, 40, 60);
  const torch::Tensor without = flat_gradient(pcd_loss(*model, data, chains, {}).loss, *model);
  const PcdLoss loss = pcd_loss(*model, data, chains, {.l1 = 0.25});
  EXPECT_NEAR((loss.loss - loss.energy_data + loss.energy_model).item<double>(), 0.25 * 24, 1e-12);
  const torch::Tensor with = flat_gradient(loss.loss, *model);
  const torch::Tensor expected =
      torch::cat({0.25 * coupling.detach().sign(), torch::zeros({9}, torch::kFloat64)});
  EXPECT_TRUE(torch::allclose(with - without, expected, 0, 1e-12));
}

// In contrastive divergence, the sampler's chains of an iteration start at its data.
TEST(PcdTest, ContrastedChainsStartAtTheData) {
  const auto model = new_model("rbm", {.image_height = 3, .image_width = 3, .hidden = 5}, 1);
  const torch::Tensor data = bars_and_stripes(3).train;
  const auto sampler = make_sampler("gibbs", {.scan = Scan::kChromatic}, *model);
  const int64_t count = data.size(0);
  PcdObjective objective(
      *model, *sampler, bars_and_stripes(3),
      {.batch = count, .buffer = count, .steps = 3, .from_data = true, .seed = 8}, 10, torch::kCPU);
  Batch drawn = objective.draw(*model, 5);

  const torch::Tensor batch = Batches(bars_and_stripes(3), count, 8, torch::kCPU).states(5);
  ChainState state = sampler->init(*model, batch, torch::arange(count));
  StepParams params = sampler->params(stream_key(8, RandomStream::kTraining), torch::kCPU, 4 * 3);
  for (int t = 0; t < 3; ++t) sampler->step(*model, state, params);
  const Loss loss = objective.loss(*model, drawn);
  objective.keep(std::move(drawn));
  EXPECT_TRUE(torch::equal(objective.chains(), state.x));
  const PcdLoss expected = pcd_loss(*model, batch, state.x, {});
  EXPECT_TRUE(torch::equal(loss.value, expected.loss));
  const auto metric = [&](size_t i, const char* name) {
    EXPECT_EQ(loss.metrics.at(i).first, name);
    return loss.metrics[i].second.item<double>();
  };
  EXPECT_EQ(metric(0, "energy_data"), expected.energy_data.item<double>());
  EXPECT_EQ(metric(1, "energy_model"), expected.energy_model.item<double>());
  EXPECT_EQ(metric(2, "difference"), expected.loss.item<double>());
  EXPECT_EQ(metric(3, "acceptance"), 1);
  EXPECT_GT(metric(4, "hops"), 0);
}

// Chains that are initialised at the data are training images, from batches that no iteration uses.
TEST(PcdTest, ChainsMayBeginAtTheData) {
  SineModel model(9);
  const auto sampler = make_sampler("gwg", {}, model);
  const Dataset data = bars_and_stripes(3);
  const PcdOptions options = {.batch = 6, .buffer = 20, .begin_at_data = true, .seed = 3};
  const PcdObjective objective(model, *sampler, data, options, /*iterations=*/10, torch::kCPU);
  Batches batches(data, 6, 3, torch::kCPU);
  std::vector<torch::Tensor> expected;
  for (int64_t t = 11; t <= 14; ++t) expected.push_back(batches.states(t));
  EXPECT_TRUE(torch::equal(objective.chains(), torch::cat(expected).narrow(0, 0, 20)));
}

// L written out in plain loops.
double plain_loss(const torch::Tensor& a, const torch::Tensor& w, const torch::Tensor& data,
                  const torch::Tensor& chains, const PcdOptions& options) {
  const auto a_ = a.accessor<double, 1>(), w_ = w.accessor<double, 1>();
  double loss = 0;
  for (const auto& [states, sign] : {std::pair{data, 1.0}, std::pair{chains, -1.0}}) {
    const auto x = states.accessor<uint8_t, 2>();
    const double n = static_cast<double>(x.size(0));
    for (int64_t b = 0; b < x.size(0); ++b) {
      double linear = 0, phase = 0, squares = 0;
      for (int64_t i = 0; i < x.size(1); ++i) {
        linear += a_[i] * x[b][i];
        phase += w_[i] * x[b][i];
      }
      for (int64_t i = 0; i < x.size(1); ++i) {
        squares += std::pow(a_[i] + w_[i] * std::cos(phase), 2);
      }
      const double u = linear + std::sin(phase);
      loss += (sign * u + options.l2 * u * u) / n;
      if (sign > 0) loss += options.p_control * 0.5 * squares / n;
    }
  }
  return loss;
}

TEST(PcdTest, RegularisersEqualFiniteDifferencesOfTheFormula) {
  SineModel model(6);
  const torch::Tensor states = all_states(6);
  const torch::Tensor data = states.narrow(0, 3, 7), chains = states.narrow(0, 21, 30);
  const PcdOptions options = {.l2 = 0.3, .p_control = 0.7};
  // ∇_x U is float32, |∂_i U| < 1.5 at 6 sites: 0.7·½·6·1.5²·2·2^-24.
  constexpr double kRounding = 6e-7;
  const PcdLoss loss = pcd_loss(model, data, chains, options);
  EXPECT_NEAR(loss.loss.item<double>(),
              plain_loss(model.a.detach(), model.w.detach(), data, chains, options),
              1e-7);  // ∇_x U passes through float32 states
  const torch::Tensor gradient = flat_gradient(loss.loss, model);
  constexpr double kStep = 1e-5;  // central differences: error ~ step² + 1e-16 / step ≪ kRounding
  for (int64_t k = 0; k < 12; ++k) {
    double value[2];
    for (int side : {0, 1}) {
      torch::Tensor a = model.a.detach().clone(), w = model.w.detach().clone();
      (k < 6 ? a : w)[k % 6] += side ? kStep : -kStep;
      value[side] = plain_loss(a, w, data, chains, options);
    }
    EXPECT_NEAR(gradient[k].item<double>(), (value[1] - value[0]) / (2 * kStep), kRounding);
  }
}

TEST(PcdTest, ChainsAreAdvancedAndWrittenBack) {
  SineModel model(9);
  const auto sampler = make_sampler("gwg", {}, model);
  const PcdOptions options = {.batch = 8, .buffer = 20, .steps = 5, .seed = 3};
  const Dataset data = bars_and_stripes(3);
  PcdObjective objective(model, *sampler, data, options, 10, torch::kCPU);
  const torch::Tensor before = objective.chains().clone();
  Batch batch = objective.draw(model, 4);
  const Loss loss = objective.loss(model, batch);
  objective.keep(std::move(batch));
  const torch::Tensor slots = ReplayBuffer(clamped_mean(data), 20, 3).draw_slots(8, 4);
  const torch::Tensor touched = torch::zeros({20}, torch::kBool).index_fill_(0, slots, true);
  EXPECT_TRUE(torch::equal(before.index({~touched}), objective.chains().index({~touched})));
  const torch::Tensor moved = objective.chains().index_select(0, slots);
  EXPECT_FALSE(torch::equal(before.index_select(0, slots), moved));

  // Equals the sampler run alone, with training's key, chain ids = slots and step numbers 15 … 19.
  ChainState state = sampler->init(model, before.index_select(0, slots), slots);
  StepParams params = sampler->params(stream_key(3, RandomStream::kTraining), torch::kCPU, 15);
  for (int step = 0; step < 5; ++step) sampler->step(model, state, params);
  EXPECT_TRUE(torch::equal(state.x, moved));
  const double acceptance = state.statistics.acceptance_sum.sum().item<double>() / 40;
  EXPECT_EQ(loss.metrics[3].second.item<double>(), acceptance);
  EXPECT_GT(acceptance, 0);
  EXPECT_LE(acceptance, 1);
  EXPECT_EQ(loss.metrics[4].second.item<double>(),
            state.statistics.hops_sum.sum().item<double>() / 40);
}

// Iterations of one object, whose chains keep their tensors, equal those of new objects. Makes an
// iteration as PcdObjective does.
PcdChains advance(PcdSampling& sampling, EnergyModel& model, ReplayBuffer& buffer,
                  const PcdOptions& options, int64_t iteration) {
  const torch::Tensor slots = buffer.draw_slots(options.batch, iteration);
  const PcdChains chains =
      sampling.advance(model, buffer.chains(slots, options.reinit, iteration), slots, iteration);
  buffer.write_back(slots, chains.states);
  return chains;
}

TEST(PcdTest, IterationsLeaveNothingBehind) {
  SineModel model(9);
  for (const std::string name : {"rwm", "gibbs", "gwg", "pafs", "lbj", "ab-1st", "flsb-2", "pas"}) {
    const auto sampler = make_sampler(name, {}, model);
    const PcdOptions options = {.batch = 8, .steps = 5, .reinit = 0.3, .seed = 3};
    ReplayBuffer kept(torch::full({9}, 0.5f), 20, 3), fresh(torch::full({9}, 0.5f), 20, 3);
    PcdSampling sampling(*sampler, options);
    for (int64_t t = 1; t <= 3; ++t) {
      const PcdChains a = advance(sampling, model, kept, options, t);
      PcdSampling new_one(*sampler, options);
      const PcdChains b = advance(new_one, model, fresh, options, t);
      EXPECT_TRUE(torch::equal(kept.states(), fresh.states())) << name << ", iteration " << t;
      EXPECT_TRUE(torch::equal(a.acceptance, b.acceptance));
      EXPECT_TRUE(torch::equal(a.hops, b.hops));
    }
  }
}

// Parameters change between iterations; captured steps read them, or are captured again.
TEST(PcdGpu, CapturedIterationsMakeTheSameChains) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const FullPrecision full;
  NewModelOptions shape;
  shape.image_height = shape.image_width = 12;
  shape.hidden = 20;
  // One kernel computes a resnet of 16 channels, and LibTorch's convolutions one of 4.
  for (const auto& [kind, channels] :
       {std::pair{"resnet", 4}, {"resnet", 16}, {"mlp", 4}, {"rbm", 4}}) {
    shape.channels = channels;
    const std::shared_ptr<EnergyModel> model = new_model(kind, shape, 1);
    model->to(torch::kCUDA);
    const auto sampler = make_sampler("pafs", {}, *model);
    const auto states = [&](bool cuda_graph) {
      const PcdOptions options{.batch = 8, .steps = 6, .seed = 3, .cuda_graph = cuda_graph};
      PcdSampling sampling(*sampler, options);
      ReplayBuffer buffer(torch::full({144}, 0.5f, torch::kCUDA), 20, 3);
      for (int64_t t = 1; t <= 4; ++t) {
        advance(sampling, *model, buffer, options, t);
        torch::NoGradGuard no_grad;
        for (torch::Tensor& p : model->parameters()) p.mul_(t % 2 ? 2 : 0.5);  // exact
      }
      return buffer.states().cpu();
    };
    EXPECT_TRUE(torch::equal(states(true), states(false))) << kind;
  }
}

TEST(PcdTest, NonFiniteEnergiesAreANumericalFailure) {
  SineModel model(9);
  model.a.data().fill_(std::numeric_limits<double>::infinity());
  const auto sampler = make_sampler("gwg", {}, model);
  ReplayBuffer buffer(torch::full({9}, 0.5f), 20, 3);
  const PcdOptions options = {.batch = 8, .steps = 5};
  PcdSampling sampling(*sampler, options);
  EXPECT_THROW(advance(sampling, model, buffer, options, 1), NumericalError);
}

// Errors that a model or a sampler throws for the user are not divergences.
TEST(PcdTest, OtherErrorsStayWhatTheyAre) {
  struct Refusing : SineModel {
    using SineModel::SineModel;
    torch::Tensor energy(const torch::Tensor&) override { fail("too many sites"); }
  };
  Refusing model(9);
  const auto sampler = make_sampler("rwm", {}, model);
  ReplayBuffer buffer(torch::full({9}, 0.5f), 20, 3);
  const PcdOptions options = {.batch = 8, .steps = 5};
  PcdSampling sampling(*sampler, options);
  EXPECT_ERROR(advance(sampling, model, buffer, options, 1), "too many sites");
}

// Chains that are not finite on one rank end the iteration on all ranks, and are never stored in
// the buffer.
TEST(PcdTest, ChainsOfOneRankThatFailAreEveryRanks) {
  const Dataset data = bars_and_stripes(3);
  const PcdOptions options = {.batch = 6, .buffer = 12, .steps = 2};
  const auto words = on_ranks<std::string>(3, [&](const Ranks& ranks) -> std::string {
    const auto model = new_model("rbm", {.image_height = 3, .image_width = 3, .hidden = 5}, 1);
    const auto sampler = make_sampler("pafs", {.radius = 2}, *model);
    PcdObjective objective(*model, *sampler, data, options, 9, torch::kCPU, ranks);
    objective.keep(objective.draw(*model, 1));
    const torch::Tensor before = objective.chains().clone();
    torch::NoGradGuard no_grad;
    if (ranks.rank() == 1) model->parameters()[0].fill_(NAN);
    try {
      objective.keep(objective.draw(*model, 2));
    } catch (const NumericalError& error) {
      EXPECT_TRUE(torch::equal(objective.chains(), before)) << ranks.rank();
      return error.what();
    }
    return "went on";
  });
  EXPECT_EQ(words[0], "chains of another rank have values that are not finite");
  EXPECT_NE(words[1].find("the energy is not finite"), std::string::npos) << words[1];
  EXPECT_EQ(words[2], words[0]);
}

}  // namespace
}  // namespace isinglass::pcd_test
