// Categorical images from end to end: base distributions, annealing and likelihoods of a tiny
// network against enumeration, the gradient of contrastive divergence, and inconsistent settings.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"
#include "models/energies.h"
#include "models/registry.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"
#include "train/likelihood.h"
#include "train/objectives/pcd_objective.h"

namespace isinglass::categorical_images_test {
namespace {

constexpr int64_t kHeight = 3, kWidth = 2, kSites = kHeight * kWidth, kValues = 3;

Dataset images() {
  Dataset data = categorical_images(300, kHeight, kWidth, kValues);
  data.validation = data.train.narrow(0, 200, 60);
  data.test = data.train.narrow(0, 260, 40);
  data.train = data.train.narrow(0, 0, 200);
  return data;
}

std::shared_ptr<EnergyModel> resnet(double scale, const torch::Tensor& base) {
  return fresh_network({.image_height = kHeight,
                        .image_width = kWidth,
                        .channels = 4,
                        .categories = kValues,
                        .proj = 2,
                        .base_mean = base},
                       scale);
}

// Mean of Σ_i log p(x_i) over the rows, in plain loops.
double plain_independent(const torch::Tensor& p, const torch::Tensor& x) {
  double sum = 0;
  for (int64_t n = 0; n < x.size(0); ++n) {
    for (int64_t i = 0; i < x.size(1); ++i) {
      sum += std::log(p[i][x[n][i].item<int64_t>()].item<double>());
    }
  }
  return sum / static_cast<double>(x.size(0));
}

TEST(CategoricalImages, AnnealingFindsTheEnumeratedLogZ) {
  const Dataset data = images();
  const torch::Tensor states = all_states(kSites, kValues);
  ASSERT_EQ(states.size(0), 729);
  for (const bool with_base : {true, false}) {
    const auto model = resnet(300, with_base ? clamped_mean(data) : torch::Tensor());
    torch::NoGradGuard no_grad;
    const torch::Tensor u = energies(*model, states, torch::kCPU);
    const torch::Tensor base = energies(*resnet(0, model->base_mean()), states, torch::kCPU);
    ASSERT_GT((u - base).std().item<double>(), 0.5);  // the network has an effect
    const double exact = torch::logsumexp(-u, 0).item<double>();
    const Factorised start = annealing_start(*model, &data, torch::kCPU);
    EXPECT_NEAR(start.mean_log_likelihood(states), plain_independent(clamped_mean(data), states),
                1e-6);
    for (const char* name : {"pafs", "gwg", "lbj"}) {
      const auto sampler = make_sampler(
          name, name == std::string("pafs") ? SamplerOptions{.radius = 2} : SamplerOptions(),
          *model);
      const AisResult ais =
          AnnealedImportanceSampling(*model, *sampler, start,
                                     {.chains = 200, .temperatures = 500, .seed = 2}, torch::kCPU)
              .run();
      EXPECT_LT(ais.log_z_se, 0.05) << name;
      EXPECT_NEAR(ais.log_z, exact, 4 * ais.log_z_se + 1e-4) << name;
    }
    // The likelihoods of splits, and those of independent pixels.
    const std::vector<SplitEnergy> splits = *split_energies(*model, data, torch::kCPU);
    ASSERT_EQ(splits.size(), 3u);
    const torch::Tensor of_test = energies(*model, data.test, torch::kCPU);
    const BracketVerdict closed{.closed = true};
    const SplitLikelihood test = splits[2].at({exact, exact, exact}, closed);
    const double nats = -of_test.mean().item<double>() - exact;
    EXPECT_NEAR(test.quoted, nats, 1e-5);
    EXPECT_NEAR(test.bits_per_dim, -nats / 6 / 0.6931471805599453, 1e-6);
    const double independent = plain_independent(clamped_mean(data), data.test);
    EXPECT_NEAR(test.independent, independent, 1e-6);
    EXPECT_NEAR(test.independent_bits_per_dim, -independent / 6 / 0.6931471805599453, 1e-6);
  }
}

// 6 sites with 8 equally probable values have 3 bits each.
TEST(CategoricalImages, BitsPerDimension) {
  EXPECT_NEAR(bits_per_dim(-6 * std::log(8.0), 6), 3, 1e-12);
  EXPECT_NEAR(bits_per_dim(-560 * 8 * std::log(2.0), 560), 8, 1e-12);
}

// With chains drawn from the model by enumeration, the loss has the gradient of the likelihood.
TEST(CategoricalImages, ContrastiveGradientIsThatOfTheLikelihood) {
  const Dataset data = images();
  const auto model = resnet(300, clamped_mean(data));
  model->to(torch::kFloat64);
  const torch::Tensor states = all_states(kSites, kValues);
  const auto gradient = [&](const torch::Tensor& loss) {
    model->zero_grad();
    loss.backward();
    std::vector<torch::Tensor> parts;
    for (const torch::Tensor& p : model->parameters()) parts.push_back(p.grad().flatten());
    return torch::cat(parts).to(torch::kFloat64).clone();
  };
  const torch::Tensor exact = gradient(model->energy(data.train).to(torch::kFloat64).mean() +
                                       (-model->energy(states).to(torch::kFloat64)).logsumexp(0));
  const torch::Tensor p = torch::softmax(-model->energy(states).detach().to(torch::kFloat64), 0);
  constexpr int64_t kSamples = 60000;
  const torch::Tensor chains = states.index_select(
      0, p.multinomial(kSamples, true, torch::make_generator<at::CPUGeneratorImpl>(11)));
  const torch::Tensor pcd = gradient(pcd_loss(*model, data.train, chains, {}).loss);
  std::vector<torch::Tensor> rows;
  for (int64_t n = 0; n < states.size(0); ++n) {
    rows.push_back(gradient(model->energy(states.narrow(0, n, 1)).sum()));
  }
  const torch::Tensor g = torch::stack(rows), weight = p.unsqueeze(1), mean = (weight * g).sum(0);
  const torch::Tensor error = ((weight * (g - mean).square()).sum(0) / kSamples).sqrt();
  const torch::Tensor bound = 5 * error + 1e-8 * g.abs().amax(0);
  EXPECT_TRUE(((pcd - exact).abs() <= bound).all().item<bool>())
      << ((pcd - exact).abs() / bound).nan_to_num(0).max().item<double>();
  EXPECT_GT(exact.norm().item<double>(), 5 * bound.norm().item<double>());
}

// ½·E ‖∇_x U‖² over one-hot states, as energy_and_grad has them.
TEST(CategoricalImages, GradientPenaltyIsOfOneHotStates) {
  const Dataset data = images();
  const auto model = resnet(300, clamped_mean(data));
  const torch::Tensor chains = data.test;
  const PcdLoss loss = pcd_loss(*model, data.train, chains, {.p_control = 0.25});
  const double penalty = 0.5 *
                         model->energy_and_grad(data.train).gradient.square().sum().item<double>() /
                         static_cast<double>(data.train.size(0));
  EXPECT_NEAR((loss.loss - loss.energy_data + loss.energy_model).item<double>(), 0.25 * penalty,
              1e-5 * penalty);
}

TEST(CategoricalImages, ModelsOfOtherStatesAreRefused) {
  const Dataset data = images();
  const auto refused = [&](EnergyModel& model, const Dataset& on, const std::string& reason) {
    const auto sampler = make_sampler("gwg", {}, model);
    EXPECT_ERROR(
        PcdObjective(model, *sampler, on, {.batch = 2, .buffer = 4, .steps = 1}, 1, torch::kCPU),
        reason);
  };
  const auto binary = new_model("rbm", {.image_height = 3, .image_width = 2, .hidden = 2}, 1);
  refused(*binary, data, "needs a model of categorical states of 3 values, which 'rbm' is not");
  Dataset more = data;
  more.categories = 4;
  refused(*resnet(1, {}), more, "categorical states of 4 values, which 'resnet' is not");
  Dataset two;
  two.name = "two";
  two.train = data.train.clamp_max(1);
  refused(*resnet(1, {}), two, "training on 'two' needs a model of binary states");
}

}  // namespace
}  // namespace isinglass::categorical_images_test
