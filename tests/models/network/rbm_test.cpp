// Gibbs sweeps of an RBM with so many units on a side that their groups of four exceed 16-bit
// numbers.
#include "models/network/rbm.h"

#include <gtest/gtest.h>

namespace isinglass::rbm_test {
namespace {

using torch::Tensor;

constexpr int64_t kManyUnits = (1 << 18) + 64, kChains = 3;

// Returns small whole numbers, whose float32 sums are exact in any order.
Tensor whole_weights(at::IntArrayRef shape) {
  return torch::randint(-3, 4, shape).to(torch::kFloat32);
}

ops::StepBuffers step_buffers() {
  const Tensor real = torch::zeros({kChains}, torch::kFloat64);
  const Tensor whole = torch::zeros({kChains}, torch::kInt64);
  return {real.clone(), whole.clone(), real.clone(), whole.clone(), whole.clone()};
}

Tensor one_hot_of(const Tensor& x, int64_t values) {
  return torch::one_hot(x.to(torch::kInt64), values).to(torch::kFloat64);
}

// After a sweep the hidden inputs are b_h + W v of the states that it has drawn.
void expect_inputs_of_states(int64_t sites, int64_t hidden, int64_t values = 0) {
  torch::manual_seed(3);
  std::vector<int64_t> shape = {hidden, sites};
  if (values > 0) shape.push_back(values);
  const Tensor w = whole_weights(shape), b_h = whole_weights({hidden});
  RbmModel model(w, whole_weights(w.sizes().slice(1)), b_h);
  Tensor x = torch::randint(values > 0 ? values : 2, {kChains, sites}, torch::kUInt8);
  Evaluation current;
  model.evaluate_energy(x, current);
  ops::StepBuffers counts = step_buffers();
  model.gibbs_sweeps(1, torch::tensor({int64_t{5}, int64_t{0}}), torch::arange(kChains), x, current,
                     counts);
  const Tensor v = (values > 0 ? one_hot_of(x, values) : x.to(torch::kFloat64)).flatten(1);
  EXPECT_TRUE(
      torch::equal(current.cache.at(0), v.matmul(w.flatten(1).t().to(torch::kFloat64)) + b_h));
}

TEST(RbmSweeps, KnowTheInputsOfManySites) {
  expect_inputs_of_states(kManyUnits, 4);
}

TEST(RbmSweeps, KnowTheInputsOfManyValues) {
  expect_inputs_of_states(kManyUnits / 256 + 1, 4, 256);
}

// Only hidden unit j is on; the visible units are those for which its row is above 0.
TEST(RbmSweeps, KnowAHiddenUnitBeyondManyOthers) {
  constexpr int64_t kSites = 5;
  constexpr float kSure = 1000;
  torch::manual_seed(3);
  const Tensor w = kSure * (2 * torch::randint(2, {kManyUnits, kSites}).to(torch::kFloat32) - 1);
  Tensor b_h = torch::full({kManyUnits}, -100 * kSure);
  const int64_t on = kManyUnits - 3;
  b_h[on] = 100 * kSure;
  RbmModel model(w, torch::zeros({kSites}), b_h);
  Tensor x = torch::zeros({kChains, kSites}, torch::kUInt8);
  Evaluation current;
  model.evaluate_energy(x, current);
  ops::StepBuffers counts = step_buffers();
  model.gibbs_sweeps(1, torch::tensor({int64_t{5}, int64_t{0}}), torch::arange(kChains), x, current,
                     counts);
  EXPECT_TRUE(torch::equal(x, (w[on] > 0).to(torch::kUInt8).expand_as(x)));
}

}  // namespace
}  // namespace isinglass::rbm_test
