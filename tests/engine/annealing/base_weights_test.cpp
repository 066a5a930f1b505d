// log Z of a residual model by importance weights of draws of its base, against enumeration.
#include "engine/annealing/base_weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/random/streams.h"
#include "models/energies.h"
#include "models/lattice/bernoulli.h"
#include "models/network/mlp.h"
#include "models/network/rbm.h"
#include "tests/engine/invariance.h"

namespace isinglass::base_weights_test {
namespace {

constexpr int kSites = 5;

torch::Tensor all() {
  return states_of(reference::StateTable(kSites, 2));
}

std::shared_ptr<ResidualModel> residual(const std::shared_ptr<EnergyModel>& base, double scale) {
  torch::manual_seed(6);
  const auto network = std::make_shared<MlpModel>(StateSpace{StateKind::kBinary, kSites, 2});
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& p : network->parameters()) p.mul_(scale);
  return std::make_shared<ResidualModel>(base, network, ResidualOptions{.bound = 4});
}

std::shared_ptr<EnergyModel> small_rbm() {
  torch::manual_seed(7);
  return std::make_shared<RbmModel>(0.4 * torch::randn({24, kSites}), 0.5 * torch::randn({kSites}),
                                    torch::randn({24}));
}

double log_z(EnergyModel& model) {
  return torch::logsumexp(-energies(model, all(), torch::kCPU), 0).item<double>();
}

TEST(BaseWeights, FindLogZOfEnumeration) {
  const std::shared_ptr<EnergyModel> bases[] = {
      small_rbm(),
      std::make_shared<BernoulliModel>(torch::tensor({0.5, -1.0, 0.2, 1.5, 0.0}, torch::kFloat64))};
  for (const auto& base : bases) {
    SCOPED_TRACE(base->kind_name());
    const BaseDraws draws(*base, stream_key(3, RandomStream::kValidation), torch::kCPU);
    // One pool serves every network on the base.
    for (const double scale : {3.0, 4.0}) {
      const auto model = residual(base, scale);
      const BaseWeights found = draws.weigh(*model);
      EXPECT_LT(found.standard_error, 0.1);
      EXPECT_NEAR(found.log_ratio, log_z(*model) - log_z(*base), 4 * found.standard_error);
      EXPECT_EQ(found.draws, BaseDraws::kChains * BaseDraws::kDraws);
      // ESS/n → (E w)² / E w².
      const torch::Tensor u = energies(*base, all(), torch::kCPU);
      const torch::Tensor w = torch::exp(u - energies(*model, all(), torch::kCPU));
      const torch::Tensor p = torch::softmax(-u, 0);
      const double share = ((p * w).sum().square() / (p * w * w).sum()).item<double>();
      EXPECT_NEAR(found.ess / static_cast<double>(found.draws), share, 0.1);
      EXPECT_LT(share, 0.98) << "the network is too flat to test with";
    }
  }
}

// With one constant g, every weight is the same.
TEST(BaseWeights, OfAConstantAreExact) {
  const auto base = small_rbm();
  const auto model = residual(base, 0);
  const BaseWeights found = BaseDraws(*base, 3, torch::kCPU).weigh(*model);
  EXPECT_NEAR(found.log_ratio, 0, 1e-12);
  EXPECT_NEAR(found.standard_error, 0, 1e-12);
  EXPECT_NEAR(found.ess, static_cast<double>(found.draws), 1e-6);
}

// The weights of a pool are the same at every call, so that scores of checkpoints can be compared.
TEST(BaseWeights, RepeatThemselves) {
  const auto base = small_rbm();
  const auto model = residual(base, 3);
  const BaseWeights one = BaseDraws(*base, 3, torch::kCPU).weigh(*model);
  EXPECT_EQ(one.log_ratio, BaseDraws(*base, 3, torch::kCPU).weigh(*model).log_ratio);
  EXPECT_NE(one.log_ratio, BaseDraws(*base, 4, torch::kCPU).weigh(*model).log_ratio);
}

}  // namespace
}  // namespace isinglass::base_weights_test
