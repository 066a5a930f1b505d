// Learning an Ising model from states of a known one, against the exact maximum-likelihood
// solution.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"
#include "io/error.h"
#include "models/registry.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/coupling_error.h"
#include "train/objectives/pcd_objective.h"
#include "train/optimiser/adam.h"

namespace isinglass::learning_ising_test {
namespace {

using torch::Tensor;

constexpr const char* kTarget = "ising-grid:side=3,coupling=0.25,periodic=1";

std::shared_ptr<IsingModel> fresh(EdgeSet edges = EdgeSet::kAll) {
  return std::dynamic_pointer_cast<IsingModel>(
      new_model("ising", {.image_height = 3, .image_width = 3, .edges = edges}, 1));
}

// Long sweeps draw independent states of the target: the frequencies of all 512 of them.
TEST(LearningIsing, DataAreDrawsOfTheTarget) {
  const Dataset data = load_dataset(kTarget, "");
  EXPECT_EQ(data.height, 3);
  EXPECT_EQ(data.values, PixelValues::kBinary);
  ASSERT_TRUE(data.drawn_from);
  const Tensor x = all_states(9);
  const Tensor p =
      torch::softmax(-std::const_pointer_cast<EnergyModel>(data.drawn_from)->energy(x).detach(), 0);
  const double n = static_cast<double>(data.train.size(0));
  const Tensor index =
      data.train.to(torch::kInt64)
          .mul(torch::ones({9}, torch::kInt64).bitwise_left_shift(torch::arange(9)))
          .sum(1);
  const Tensor found = index.bincount({}, 512).to(torch::kFloat64);
  const double chi2 = ((found - n * p).square() / (n * p)).sum().item<double>();
  // 511 degrees of freedom: mean 511, standard deviation √(2·511 + …) of cells with small means.
  const double spread = std::sqrt(2 * 511 + ((1 / p).sum().item<double>() - 512 * 512) / n);
  EXPECT_NEAR(chi2, 511, 5 * spread);
  EXPECT_ERROR(load_dataset("bernoulli-", ""), "unknown data set");
  EXPECT_ERROR(load_dataset("potts-field:side=3", ""),
               "this requires binary sites and Gibbs sweeps");
}

// RMSE over the D × D matrices, written out.
TEST(LearningIsing, CouplingErrorIsThatOfTheMatrices) {
  const auto learned = fresh(EdgeSet::kGrid);
  {
    const torch::NoGradGuard no_grad;
    learned->named_parameters()["coupling"].copy_(torch::linspace(-0.3, 0.8, 12));
  }
  const IsingModel truth(torch::tensor({{0, 1}, {8, 0}, {4, 1}, {1, 4}}, torch::kInt64),
                         torch::tensor({0.3, -0.2, 0.5, 0.1}, torch::kFloat64), torch::zeros({9}));
  const auto matrix = [](const IsingModel& model) {
    Tensor half = torch::zeros({9, 9}, torch::kFloat64);
    for (int64_t e = 0; e < model.edges().size(0); ++e) {
      const int64_t i = model.edges()[e][0].item<int64_t>(),
                    j = model.edges()[e][1].item<int64_t>();
      half[i][j] += model.coupling()[e].item<double>() / 2;
      half[j][i] += model.coupling()[e].item<double>() / 2;
    }
    return half;
  };
  const double expected = (matrix(*learned) - matrix(truth)).square().mean().sqrt().item<double>();
  EXPECT_NEAR(CouplingError(*learned, truth).rmse().item<double>(), expected, 1e-15);
}

// Training with exact gradients of the enumerated likelihood and PCD on the same data in one batch
// reach the same couplings, up to the noise of the chains.
TEST(LearningIsing, PcdComesToTheCouplingsOfTheExactLikelihood) {
  const Dataset data = load_dataset(kTarget, "");
  constexpr int64_t kIterations = 600;
  const auto rate = [](int64_t t) { return 2e-2 * (1 - double(t) / kIterations); };
  const auto exact = fresh();
  Adam exact_adam(exact->parameters());
  const Tensor x = all_states(9);
  for (int64_t t = 0; t < kIterations; ++t) {
    exact->zero_grad();
    (exact->energy(data.train).mean() + (-exact->energy(x)).logsumexp(0)).backward();
    for (Tensor& p : exact->parameters()) {
      if (!p.grad().defined()) p.mutable_grad() = torch::zeros_like(p);
    }
    exact_adam.step(rate(t));
  }

  const auto model = fresh();
  const auto sampler = make_sampler("gwg", {}, *model);
  const PcdOptions options{.batch = 2000, .buffer = 2000, .steps = 10, .seed = 3};
  PcdObjective objective(*model, *sampler, data, options, kIterations, torch::kCPU);
  Adam adam(model->parameters());
  double first = 0, last = 0;
  for (int64_t t = 1; t <= kIterations; ++t) {
    const Loss loss = objective.loss(*model, objective.draw(*model, t));
    ASSERT_EQ(loss.metrics.back().first, "coupling_rmse");
    last = loss.metrics.back().second.item<double>();
    if (t == 1) first = last;
    model->zero_grad();
    loss.value.backward();
    for (Tensor& p : model->parameters()) {
      if (!p.grad().defined()) p.mutable_grad() = torch::zeros_like(p);
    }
    adam.step(rate(t - 1));
  }
  // Without any coupling the error is √(2·18·(0.125)²/81).
  EXPECT_NEAR(first, std::sqrt(2 * 18 * 0.125 * 0.125 / 81), 1e-12);
  EXPECT_EQ(model->named_parameters()["field"].abs().max().item<double>(), 0);
  // The standard error of a coupling from 2000 draws: 1 / √(n·Fisher), by enumeration at the exact
  // maximum.
  const Tensor z = 2 * x.to(torch::kFloat64) - 1, ends = exact->edges();
  const Tensor pairs = z.index_select(1, ends.select(1, 0)) * z.index_select(1, ends.select(1, 1));
  const Tensor p = torch::softmax(-exact->energy(x).detach(), 0);
  const Tensor centred = pairs - p.matmul(pairs);
  const Tensor fisher = centred.t().matmul(p.unsqueeze(1) * centred);
  const Tensor error = (torch::linalg_inv(fisher).diagonal() / 2000).sqrt();
  const Tensor apart = (model->coupling() - exact->coupling()).detach() / error;
  // There are as many chains as data, 2000, averaged over the last iterations of a falling rate.
  EXPECT_LT(apart.square().mean().sqrt().item<double>(), 1);
  EXPECT_LT(last, 0.3 * first);
  EXPECT_LT(CouplingError(*exact, dynamic_cast<const IsingModel&>(*data.drawn_from))
                .rmse()
                .item<double>(),
            0.3 * first);
}

TEST(LearningIsing, L1IsOfAnIsing) {
  const auto rbm = new_model("rbm", {.image_height = 3, .image_width = 3, .hidden = 5}, 1);
  const auto sampler = make_sampler("gwg", {}, *rbm);
  EXPECT_ERROR(PcdObjective(*rbm, *sampler, bars_and_stripes(3), {.buffer = 100, .l1 = 0.1}, 10,
                            torch::kCPU),
               "l1 penalises the couplings of an ising model, but the model is 'rbm'");
}

}  // namespace
}  // namespace isinglass::learning_ising_test
