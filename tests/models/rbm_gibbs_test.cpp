// Block Gibbs sampling of an RBM draws from exp(−U), U by enumeration of its visible states.
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "models/rbm.h"

namespace isinglass {
namespace {

TEST(RbmGibbs, DrawsFromTheModel) {
  constexpr int64_t kSites = 3, kStates = 8, kChains = 20000, kSweeps = 30;
  torch::manual_seed(2);
  RbmModel rbm(torch::randn({4, kSites}), torch::randn({kSites}), torch::randn({4}));
  const torch::Tensor bits = torch::pow(2, torch::arange(kSites));
  const torch::Tensor states =
      torch::arange(kStates).unsqueeze(1).bitwise_and(bits).ne(0).to(torch::kUInt8);
  const torch::Tensor pi = torch::softmax(-rbm.energy(states).detach(), 0);

  const at::Generator generator = at::detail::createCPUGenerator(11);
  torch::Tensor v = torch::zeros({kChains, kSites}, torch::kUInt8);
  for (int64_t sweep = 0; sweep < kSweeps; ++sweep) v = rbm.gibbs_sweep(v, generator);
  const torch::Tensor index = (v.to(torch::kInt64) * bits).sum(1);
  const torch::Tensor share =
      torch::bincount(index, {}, kStates).to(torch::kFloat64) / static_cast<double>(kChains);
  const torch::Tensor error = (pi * (1 - pi) / static_cast<double>(kChains)).sqrt();
  EXPECT_TRUE(((share - pi).abs() < 5 * error).all().item<bool>()) << share << pi;
}

// The same of categorical units, 3 values each.
TEST(RbmGibbs, DrawsFromACategoricalModel) {
  constexpr int64_t kSites = 2, kStates = 9, kChains = 20000, kSweeps = 30;
  torch::manual_seed(3);
  RbmModel rbm(torch::randn({4, kSites, 3}), torch::randn({kSites, 3}), torch::randn({4}));
  const torch::Tensor number = torch::arange(kStates);
  const torch::Tensor states =
      torch::stack({number.floor_divide(3), number.remainder(3)}, 1).to(torch::kUInt8);
  const torch::Tensor pi = torch::softmax(-rbm.energy(states).detach(), 0);

  const at::Generator generator = at::detail::createCPUGenerator(12);
  torch::Tensor v = torch::zeros({kChains, kSites}, torch::kUInt8);
  for (int64_t sweep = 0; sweep < kSweeps; ++sweep) v = rbm.gibbs_sweep(v, generator);
  const torch::Tensor index = v.select(1, 0).to(torch::kInt64) * 3 + v.select(1, 1);
  const torch::Tensor share =
      torch::bincount(index, {}, kStates).to(torch::kFloat64) / static_cast<double>(kChains);
  const torch::Tensor error = (pi * (1 - pi) / static_cast<double>(kChains)).sqrt();
  EXPECT_TRUE(((share - pi).abs() < 5 * error).all().item<bool>()) << share << pi;
}

}  // namespace
}  // namespace isinglass
