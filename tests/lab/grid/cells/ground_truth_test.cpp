// Ground truth of an RBM: right where its chains converge, refused where they do not.
#include "lab/grid/cells/ground_truth.h"

#include <gtest/gtest.h>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "models/network/rbm.h"

namespace isinglass::ground_truth_test {
namespace {

std::shared_ptr<RbmModel> rbm_of(const torch::Tensor& w, const torch::Tensor& visible,
                                 const torch::Tensor& hidden) {
  return std::make_shared<RbmModel>(w, visible, hidden);
}

bool go_on() {
  return false;
}

const GroundTruthOptions kShort{.chains = 40, .least_sweeps = 100, .most_sweeps = 400};

TEST(GroundTruth, HasTheMeansOfTheTargetAndAFloorOfZero) {
  torch::manual_seed(0);
  const torch::Tensor bias = torch::linspace(-1, 1, 6);
  const auto model = rbm_of(torch::zeros({3, 6}), bias, torch::zeros({3}));
  const GroundTruth truth = block_gibbs_truth(*model, torch::kCPU, go_on, kShort);
  ASSERT_TRUE(truth.converged());
  EXPECT_LT(truth.rhat, 1.05);
  ASSERT_EQ(truth.draws.sizes(), (std::vector<int64_t>{40, kMmdDraws, 6}));
  const torch::Tensor mean = truth.draws.to(torch::kFloat64).flatten(0, 1).mean(0);
  const double draws = 40.0 * kMmdDraws;  // independent ones: no site depends on another
  EXPECT_LT(((mean - bias.to(torch::kFloat64).sigmoid()).abs() / std::sqrt(0.25 / draws))
                .max()
                .item<double>(),
            4);
  EXPECT_LT(std::abs(truth.floor.u_statistic), 4 * truth.floor.standard_error);
  EXPECT_GT(truth.floor.v_statistic, 0);
}

// Two modes of unequal energy, all sites off or all on, between which sweeps do not move.
TEST(GroundTruth, IsRefusedWhereChainsHaveNotConverged) {
  const torch::Tensor w = torch::full({4, 12}, 3.0);
  const auto model = rbm_of(w, torch::full({12}, -5.5), torch::full({4}, -18.0));
  const GroundTruth truth = block_gibbs_truth(*model, torch::kCPU, go_on, kShort);
  EXPECT_GT(truth.rhat, 1.05);
  EXPECT_FALSE(truth.converged());
  EXPECT_EQ(truth.sweeps, 400);
  EXPECT_TRUE(std::isnan(truth.floor.u_statistic));
}

// The chains differ from those of a run with the same sweeps, under any seed of a grid.
TEST(GroundTruth, HasChainsOfItsOwn) {
  const auto model = rbm_of(torch::zeros({3, 40}), torch::linspace(-1, 1, 40), torch::zeros({3}));
  const GroundTruth truth = block_gibbs_truth(*model, torch::kCPU, go_on, kShort);
  ASSERT_TRUE(truth.converged());
  const auto sampler = make_sampler("gibbs", {.scan = Scan::kChromatic}, *model);
  const torch::Tensor ids = torch::arange(40);
  ChainState state = sampler->init(*model, random_states(model->space(), ids, 0, torch::kCPU), ids);
  StepParams params = sampler->params(0, torch::kCPU);
  for (int64_t t = 0; t < truth.sweeps; ++t) sampler->step(*model, state, params);
  const torch::Tensor last = truth.draws.select(1, kMmdDraws - 1);
  EXPECT_EQ((last == state.x).all(1).sum().item<int64_t>(), 0);
}

TEST(GroundTruth, StopsWhenAsked) {
  const auto model = rbm_of(torch::zeros({3, 6}), torch::zeros({6}), torch::zeros({3}));
  EXPECT_FALSE(block_gibbs_truth(*model, torch::kCPU, [] { return true; }, kShort).converged());
}

}  // namespace
}  // namespace isinglass::ground_truth_test
