// cluster-gibbs: a step with an exchange of clusters leaves the law of two chains together as it
// is, keeps their energies, and refuses models and numbers of chains that do not fit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/annealing/tempered_model.h"
#include "engine/registry.h"
#include "io/error.h"
#include "kernels/gibbs/cluster_exchange.h"
#include "models/network/rbm.h"
#include "tests/engine/invariance.h"
#include "tests/reference/lattice_target.h"

namespace isinglass::cluster_gibbs_test {
namespace {

using reference::TinyLattice;

// The number of the first step in which both chains of a group of two meet.
constexpr int64_t kFirstExchange = 2 * kExchangeSteps - 1;

SamplerOptions groups_of(double chains) {
  SamplerOptions options;
  options.group = chains;
  return options;
}

// Draws pairs of chains from π(x) π(y), makes the step with the first exchange, and expects each
// pair of states to have its probability within 5 standard errors. Pairs of states of which fewer
// than kLeastExpected are expected, whose number is not normal, are taken together.
void expect_joint_law(const TinyLattice& lattice, double beta) {
  constexpr int64_t kPairs = 60000;
  constexpr double kLeastExpected = 25;
  const auto model = lattice.model();
  TemperedModel tempered(*model, nullptr, torch::kCPU, TemperedModel::Form::kParts);
  tempered.set_beta(beta);
  reference::Target target = lattice.enumerate();
  for (double& energy : target.energy) energy *= beta;
  const std::vector<double> law = target.probabilities();
  torch::manual_seed(7);
  const torch::Tensor drawn =
      torch::multinomial(torch::tensor(law, torch::kFloat64), 2 * kPairs, /*replacement=*/true);
  const torch::Tensor x = states_of(target.table).index_select(0, drawn);
  torch::Tensor apart;
  for (const double group : {1, 2}) {
    const auto sampler = make_sampler("cluster-gibbs", groups_of(group), tempered);
    EXPECT_EQ(sampler->is_interacting(), group > 1);
    ChainState state = sampler->init(tempered, x, torch::arange(2 * kPairs));
    StepParams params = sampler->params(11, torch::kCPU, kFirstExchange);
    sampler->step(tempered, state, params);
    const torch::Tensor anew = tempered.energy(state.x);
    EXPECT_TRUE(state.current.energy.allclose(anew, 1e-12, 1e-10));
    torch::Tensor number = torch::zeros({2 * kPairs}, torch::kInt64);
    for (int64_t i = lattice.sites; i-- > 0;) {
      number = number * lattice.categories + state.x.select(1, i).to(torch::kInt64);
    }
    const auto states = static_cast<int64_t>(law.size());
    const torch::Tensor pairs = number.view({kPairs, 2});
    const torch::Tensor count =
        torch::bincount(pairs.select(1, 0) * states + pairs.select(1, 1), {}, states * states);
    const auto expect_share = [&](double drawn_pairs, double p) {
      EXPECT_NEAR(drawn_pairs / kPairs, p, 5 * std::sqrt(p * (1 - p) / kPairs));
    };
    double rare = 0, of_rare = 0;
    for (int64_t s = 0; s < states * states; ++s) {
      const double p = law[s / states] * law[s % states], drawn_pairs = count[s].item<double>();
      if (p * kPairs >= kLeastExpected) {
        SCOPED_TRACE(fmt::format("states {} and {}", s / states, s % states));
        expect_share(drawn_pairs, p);
      } else {
        rare += drawn_pairs;
        of_rare += p;
      }
    }
    if (of_rare > 0) expect_share(rare, of_rare);
    if (apart.defined()) {
      EXPECT_FALSE(state.x.equal(apart));
    }
    apart = state.x.clone();
  }
}

TEST(ClusterGibbs, LeavesTheLawOfTwoChainsAsItIs) {
  expect_joint_law({4, 2, 1.5}, 1);
  expect_joint_law({5, 2, 2.5}, 0.7);
  expect_joint_law({3, 3, 1.5, /*tables=*/true}, 1);
}

TEST(ClusterGibbs, RefusesWhatDoesNotFit) {
  const auto model = TinyLattice{4, 2, 1}.model();
  const auto sampler = make_sampler("cluster-gibbs", groups_of(4), *model);
  EXPECT_THROW(sampler->init(*model, torch::zeros({6, 4}, torch::kUInt8), torch::arange(6)), Error);
  RbmModel rbm(torch::zeros({4, 2}), torch::zeros({2}), torch::zeros({4}));
  EXPECT_THROW(make_sampler("cluster-gibbs", {}, rbm), Error);
}

}  // namespace
}  // namespace isinglass::cluster_gibbs_test
