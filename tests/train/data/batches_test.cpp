// Data order, dynamic binarisation and the replay buffer: functions of (seed, iteration) alone.
#include "train/data/batches.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/training_fixture.h"
#include "train/objectives/replay_buffer.h"

namespace isinglass::batches_test {
namespace {

std::vector<int64_t> sorted(const torch::Tensor& t) {
  const torch::Tensor s = std::get<0>(t.cpu().sort());
  return {s.data_ptr<int64_t>(), s.data_ptr<int64_t>() + s.numel()};
}

TEST(RandomOrderTest, IsUniformOverPermutations) {
  // All 24 orders of 4 elements, 24000 draws: every count within 5 binomial standard errors.
  constexpr int kDraws = 24000;
  std::map<std::vector<int64_t>, int> counts;
  for (uint32_t t = 0; t < kDraws; ++t) {
    const torch::Tensor order = random_order({7, 0, t}, Purpose::kDataOrder, 4, 4);
    ++counts[{order.data_ptr<int64_t>(), order.data_ptr<int64_t>() + 4}];
  }
  EXPECT_EQ(counts.size(), 24u);
  const double p = 1.0 / 24, error = std::sqrt(kDraws * p * (1 - p));
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, kDraws * p, 5 * error);
}

TEST(BatchesTest, EveryEpochSeesEveryImageOnce) {
  const Dataset data = grey_images(10, 4);
  Batches batches(data, 4, 3, torch::kCPU);  // 5 iterations = 2 epochs, one batch straddles
  std::vector<torch::Tensor> seen;
  for (int64_t t = 1; t <= 5; ++t) seen.push_back(batches.images(t));
  const torch::Tensor order = torch::cat(seen);
  const std::vector<int64_t> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(sorted(order.narrow(0, 0, 10)), all);
  EXPECT_EQ(sorted(order.narrow(0, 10, 10)), all);
  EXPECT_FALSE(torch::equal(order.narrow(0, 0, 10), order.narrow(0, 10, 10)));
}

TEST(BatchesTest, DependOnSeedAndIterationOnly) {
  const Dataset data = grey_images(10, 4);
  Batches in_order(data, 4, 3, torch::kCPU), jumped(data, 4, 3, torch::kCPU);
  Batches other_seed(data, 4, 4, torch::kCPU);
  for (int64_t t = 1; t <= 9; ++t) in_order.images(t);
  EXPECT_TRUE(torch::equal(in_order.images(10), jumped.images(10)));
  EXPECT_TRUE(torch::equal(in_order.states(3), jumped.states(3)));
  EXPECT_FALSE(torch::equal(in_order.states(10), other_seed.states(10)));
}

TEST(BatchesTest, BinariesPassThrough) {
  const Dataset data = bars_and_stripes(3);
  Batches batches(data, 5, 0, torch::kCPU);
  EXPECT_TRUE(torch::equal(batches.states(2), data.train.index_select(0, batches.images(2))));
}

TEST(BatchesTest, GreyLevelsAreDrawnAfreshEveryIteration) {
  const Dataset data = grey_images(3, 6);
  Batches batches(data, 3, 0, torch::kCPU);
  constexpr int kIterations = 2000;
  torch::Tensor sum = torch::zeros({3, 36}, torch::kFloat64);
  int64_t repeats = 0;
  torch::Tensor before;
  for (int64_t t = 1; t <= kIterations; ++t) {
    const torch::Tensor states = batches.states(t);
    EXPECT_LE(states.max().item<int64_t>(), 1);
    torch::Tensor by_image = torch::empty_like(states);
    by_image.index_copy_(0, batches.images(t), states);
    if (before.defined()) repeats += torch::equal(by_image, before);
    before = by_image;
    sum += by_image;
  }
  EXPECT_EQ(repeats, 0);
  // 108 frequencies, each within 5 binomial standard errors (exactly where the level is 0 or 255).
  const torch::Tensor p = data.train.to(torch::kFloat64) / 255;
  const torch::Tensor error = (p * (1 - p) / kIterations).sqrt();
  EXPECT_TRUE(((sum / kIterations - p).abs() <= 5 * error).all().item<bool>());
}

TEST(ReplayBufferTest, StartsAtTheBernoulli) {
  const torch::Tensor mean = torch::tensor({0.01f, 0.3f, 0.5f, 0.99f});
  const ReplayBuffer buffer(mean, 20000, 1);
  const torch::Tensor frequency = buffer.states().to(torch::kFloat64).mean(0);
  const torch::Tensor error = (mean * (1 - mean) / 20000).sqrt();
  EXPECT_TRUE(((frequency - mean).abs() <= 5 * error).all().item<bool>());
  EXPECT_TRUE(torch::equal(ReplayBuffer(mean, 20000, 1).states(), buffer.states()));
  EXPECT_FALSE(torch::equal(ReplayBuffer(mean, 20000, 2).states(), buffer.states()));
}

// 5 values at 3 sites, one of probability near 0: every frequency is within 5 binomial standard
// errors, in the buffer and among restarted chains.
TEST(ReplayBufferTest, StartsAtTheFrequenciesOfCategories) {
  const torch::Tensor p = torch::tensor({{0.5, 0.2, 0.1, 0.1, 0.1},
                                         {1e-9, 0.4, 1e-9, 0.6 - 3e-9, 1e-9},
                                         {0.05, 0.05, 0.05, 0.05, 0.8}},
                                        torch::kFloat64);
  const ReplayBuffer buffer(p, 20000, 1);
  const torch::Tensor slots = torch::arange(20000);
  for (const torch::Tensor& states : {buffer.states(), buffer.chains(slots, 1, 7)}) {
    const torch::Tensor frequency =
        torch::one_hot(states.to(torch::kInt64), 5).to(torch::kFloat64).mean(0);
    EXPECT_TRUE(((frequency - p).abs() <= 5 * (p * (1 - p) / 20000).sqrt()).all().item<bool>())
        << frequency;
  }
  EXPECT_TRUE(torch::equal(ReplayBuffer(p, 20000, 1).states(), buffer.states()));
  EXPECT_FALSE(torch::equal(buffer.chains(slots, 1, 7), buffer.states()));
}

TEST(BatchesTest, CategoricalImagesAreStatesAsTheyAre) {
  const Dataset data = categorical_images(9, 3, 2, 7);
  Batches batches(data, 4, 0, torch::kCPU);
  EXPECT_TRUE(batches.states(3).equal(data.train.index_select(0, batches.images(3))));
}

TEST(ReplayBufferTest, SlotsAreDistinctAndReproducible) {
  const ReplayBuffer buffer(torch::full({3}, 0.5f), 50, 1), twin(torch::full({3}, 0.5f), 50, 1);
  torch::Tensor hits = torch::zeros({50}, torch::kInt64);
  constexpr int kIterations = 1000, kCount = 20;
  for (int64_t t = 1; t <= kIterations; ++t) {
    const torch::Tensor slots = buffer.draw_slots(kCount, t);
    const std::vector<int64_t> order = sorted(slots);
    EXPECT_EQ(std::adjacent_find(order.begin(), order.end()), order.end());
    EXPECT_TRUE(torch::equal(slots, twin.draw_slots(kCount, t)));
    hits.index_add_(0, slots, torch::ones_like(slots));
  }
  const double p = double(kCount) / 50, error = std::sqrt(kIterations * p * (1 - p));
  EXPECT_LE((hits - kIterations * p).abs().max().item<double>(), 5 * error);
  EXPECT_EQ(sorted(buffer.draw_slots(50, 1)).back(), 49);
}

TEST(ReplayBufferTest, RestartsWithTheGivenProbability) {
  // A mean of 1 makes redrawn chains visible among chains of zeros.
  ReplayBuffer buffer(torch::ones({2}), 4000, 1);
  buffer.states().zero_();
  const torch::Tensor slots = torch::arange(4000);
  EXPECT_EQ(buffer.chains(slots, 0, 1).sum().item<int64_t>(), 0);
  EXPECT_EQ(buffer.chains(slots, 1, 1).sum().item<int64_t>(), 8000);
  const torch::Tensor chains = buffer.chains(slots, 0.1, 1);
  EXPECT_TRUE(torch::equal(chains.select(1, 0), chains.select(1, 1)));  // whole chains
  EXPECT_NEAR(chains.select(1, 0).sum().item<double>(), 400, 5 * std::sqrt(4000 * 0.1 * 0.9));
  EXPECT_TRUE(torch::equal(chains, buffer.chains(slots, 0.1, 1)));
  EXPECT_FALSE(torch::equal(chains, buffer.chains(slots, 0.1, 2)));
  EXPECT_EQ(buffer.states().sum().item<int64_t>(), 0);  // reading does not change the buffer
}

TEST(ReplayBufferTest, WritesBack) {
  ReplayBuffer buffer(torch::full({2}, 0.5f), 6, 1);
  const torch::Tensor before = buffer.states().clone();
  const torch::Tensor slots = torch::tensor({4, 1}, torch::kInt64);
  const torch::Tensor chains = 1 - before.index_select(0, slots);
  buffer.write_back(slots, chains);
  EXPECT_TRUE(torch::equal(buffer.chains(slots, 0, 1), chains));
  const torch::Tensor others = torch::tensor({0, 2, 3, 5}, torch::kInt64);
  EXPECT_TRUE(torch::equal(buffer.chains(others, 0, 1), before.index_select(0, others)));
}

}  // namespace
}  // namespace isinglass::batches_test
