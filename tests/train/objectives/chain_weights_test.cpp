// log Z by the work on persistent chains, against plain loops and enumeration.
#include "train/objectives/chain_weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"
#include "models/registry.h"
#include "tests/support/trainer_fixture.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd_objective.h"

namespace isinglass::chain_weights_test {
namespace {

torch::Tensor reals(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64);
}

TEST(ChainWeights, FollowTheWorks) {
  const double none = std::nan("");
  ChainWeights weights(5, torch::kCPU);
  const double* address = weights.log_z().const_data_ptr<double>();
  const torch::Tensor slots = torch::tensor({3, 0, 1}, torch::kInt64);
  const torch::Tensor rng = torch::tensor({7, 1}, torch::kInt64);
  weights.measure(slots, reals({none, none, none}), reals({2, 1, 1.5}), reals({-3, -2, -2.5}));
  // a = 1, 1, 1
  EXPECT_NEAR(weights.log_z().item<double>(), 1, 1e-12);
  EXPECT_NEAR(weights.ess().item<double>(), 3, 1e-12);
  EXPECT_FALSE(weights.resample(slots, rng).defined());
  const torch::Tensor others = torch::tensor({1, 4, 3}, torch::kInt64);
  weights.measure(others, reals({0.5, none, -0.25}), reals({9, 4, 9}), reals({9, -4.75, 9}));
  const std::vector<double> log_weights = {0.5, 0.75, 1.25};
  double sum = 0, squares = 0;
  for (const double a : log_weights) {
    sum += std::exp(a);
    squares += std::exp(2 * a);
  }
  EXPECT_NEAR(weights.log_z().item<double>(), std::log(sum / 3), 1e-12);
  EXPECT_NEAR(weights.ess().item<double>(), sum * sum / squares, 1e-12);
  EXPECT_FALSE(weights.resample(others, rng).defined());
  EXPECT_TRUE(torch::allclose(weights.saved_state()[0].second, reals({1, 0.5, 0, 1.25, 0.75})));

  // One chain has nearly all of the weight: it continues in the place of all.
  weights.measure(others, reals({0, -30, 0}), reals({0, 0, 0}), reals({0, 0, 0}));
  EXPECT_NEAR(weights.ess().item<double>(), 1, 1e-9);
  const torch::Tensor continued = weights.resample(others, rng);
  ASSERT_TRUE(continued.defined());
  EXPECT_TRUE(torch::equal(continued, torch::full({3}, 1, torch::kInt64)));
  const double mean = 30.75 - std::log(3.0);
  EXPECT_TRUE(torch::allclose(weights.saved_state()[0].second, reals({1, mean, 0, mean, mean})));
  EXPECT_EQ(weights.log_z().const_data_ptr<double>(), address);
}

TEST(ChainWeights, TheBaseHasADensity) {
  const torch::Tensor numbers = torch::arange(3);
  const torch::Tensor mean = torch::tensor({0.25f, 0.5f});
  const torch::Tensor x = torch::tensor({{0, 1}, {1, 0}, {1, 1}}, torch::kUInt8);
  const double quarter = std::log(0.25), half = std::log(0.5), most = std::log(0.75);
  EXPECT_TRUE(torch::allclose(BaseDistribution(mean).log_density(x),
                              reals({most + half, quarter + half, quarter + half}), 1e-6));
  const torch::Tensor frequencies =
      torch::tensor({{0.25, 0.25, 0.5}, {0.125, 0.75, 0.125}}, torch::kFloat64);
  const torch::Tensor values = torch::tensor({{0, 1}, {2, 0}}, torch::kUInt8);
  EXPECT_TRUE(torch::allclose(BaseDistribution(frequencies).log_density(values),
                              reals({std::log(0.25 * 0.75), std::log(0.5 * 0.125)})));
  const auto normal =
      BaseDistribution::normal(torch::tensor({1.f, -2.f}), torch::tensor({2.f, 1.f}));
  EXPECT_NEAR(normal.log_density(torch::tensor({{3.f, -1.f}})).item<double>(),
              -1 - std::log(4 * M_PI), 1e-6);
  const auto box = BaseDistribution::uniform(2, {.low = -1, .high = 3}, torch::kCPU);
  EXPECT_NEAR(box.log_density(torch::tensor({{0.f, 1.f}})).item<double>(), -2 * std::log(4), 1e-12);
}

// All states of 9 pixels, uint8 [512, 9].
torch::Tensor all_states() {
  return torch::arange(512)
      .unsqueeze(1)
      .bitwise_right_shift(torch::arange(9))
      .bitwise_and(1)
      .to(torch::kUInt8);
}

// The parameters change in every iteration; each draws a part of the buffer, so that works span
// several changes.
TEST(ChainWeights, EstimateLogZWhileTheModelChanges) {
  for (const char* name : {"pafs", "gibbs"}) {
    SCOPED_TRACE(name);
    const auto model = new_model("rbm", {.image_height = 3, .image_width = 3, .hidden = 5}, 1);
    SamplerOptions sampling;
    if (name == std::string("gibbs")) sampling.scan = Scan::kChromatic;
    const auto sampler = make_sampler(name, sampling, *model);
    constexpr int64_t kBatch = 1000, kIterations = 60;
    PcdObjective objective(
        *model, *sampler, bars_and_stripes(3),
        {.batch = kBatch, .buffer = 3 * kBatch, .steps = 2, .lag = true, .seed = 8}, kIterations,
        torch::kCPU);
    double variance = 0, first = 0, last = 0, least_ess = kBatch;
    int resampled = 0;
    for (int64_t t = 1; t <= kIterations; ++t) {
      const torch::NoGradGuard no_grad;
      Batch batch = objective.draw(*model, t);
      const Metrics metrics = [&] {
        Metrics found;
        for (const auto& [metric, value] : objective.loss(*model, batch).metrics) {
          found.add(metric, value.item<double>());
        }
        return found;
      }();
      objective.keep(std::move(batch));
      const double exact =
          (-model->energy(all_states()).to(torch::kFloat64)).logsumexp(0).item<double>();
      const double ess = *metrics.find("log_z_ess");
      // The works of an iteration's chains add their variance over the buffer; the present weights
      // add that over the batch.
      variance += (1 / *metrics.find("lag_share") - 1) / (9.0 * kBatch);
      const double error = std::sqrt(variance + 1 / ess - 1.0 / kBatch + 1e-9);
      EXPECT_NEAR(*metrics.find("log_z"), exact, 4.5 * error) << "iteration " << t;
      least_ess = std::min(least_ess, ess);
      resampled += ess < 0.5 * kBatch ? 1 : 0;
      if (t == 1) first = exact;
      last = exact;
      for (torch::Tensor p : model->parameters()) {
        p.mul_(1.06).add_(0.05 * torch::sin(p * 1e4 + static_cast<double>(t)));
      }
    }
    EXPECT_GT(std::abs(last - first), 1);
    EXPECT_GT(resampled, 0);
    EXPECT_LT(resampled, kIterations);
  }
}

// A training reports the validation images' likelihood by this log Z. Chains that begin at data, or
// whose sampler is not exact, have none.
TEST(ChainWeights, ATrainingReportsThem) {
  Dataset data = grey_images(10, 4);
  data.validation = data.train;
  const auto metrics_of_iteration_200 = [&](bool begin_at_data, bool exact) {
    PcdRun options = small_options();
    options.pcd.lag = true;
    options.pcd.reinit = 0;
    options.pcd.steps = 1;
    options.pcd.begin_at_data = begin_at_data;
    const auto model = new_model("rbm", {.image_height = 4, .image_width = 4, .hidden = 5}, 1);
    const auto sampler =
        exact ? make_sampler("gwg", {}, *model) : make_sampler("dlp", {.unadjusted = true}, *model);
    EXPECT_EQ(sampler->exact(), exact);
    Trainer trainer(
        model,
        std::make_unique<PcdObjective>(*model, *sampler, data, options.pcd, 200, torch::kCPU),
        options);
    for (int64_t t = 1; t < 200; ++t) trainer.iterate();
    return trainer.iterate();
  };
  const Metrics metrics = metrics_of_iteration_200(false, true);
  EXPECT_DOUBLE_EQ(*metrics.find("validation_nats"),
                   -*metrics.find("energy_validation") - *metrics.find("log_z"));
  for (const auto& other :
       {metrics_of_iteration_200(true, true), metrics_of_iteration_200(false, false)}) {
    EXPECT_TRUE(other.find("energy_validation"));
    EXPECT_FALSE(other.find("log_z") || other.find("validation_nats"));
  }
}

}  // namespace
}  // namespace isinglass::chain_weights_test
