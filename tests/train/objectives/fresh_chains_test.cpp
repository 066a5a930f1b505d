// Chains from noise that enter the replay buffer of training.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "engine/registry.h"
#include "io/error.h"
#include "models/lattice/ising.h"
#include "tests/support/ranks_of_threads.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd_objective.h"

namespace isinglass::fresh_chains_test {
namespace {

void advance(PcdObjective& objective, EnergyModel& model, int64_t iteration) {
  objective.keep(objective.draw(model, iteration));
}

torch::Tensor fresh_of(const PcdObjective& objective) {
  return objective.saved_state().at(0).second;
}

// Two chains from noise with a burn-in of six iterations, which ends at t = 0 and 3 (mod 6), once
// too early for each. Until one has finished its burn-in, the buffer is the same as without them.
// Then one slot of the iteration differs, and after its burn-in a chain keeps nothing of its past.
TEST(FreshChains, ComeToTheBufferWhenTheirTimeIsOver) {
  SineModel model(9);
  const auto sampler = make_sampler("gwg", {}, model);
  const Dataset data = bars_and_stripes(3);
  const auto objective = [&](int64_t fresh) {
    return std::make_unique<PcdObjective>(
        model, *sampler, data,
        PcdOptions{
            .batch = 4, .buffer = 40, .steps = 1, .fresh = fresh, .fresh_iterations = 6, .seed = 3},
        100, torch::kCPU);
  };
  const auto with = objective(2), without = objective(0), late = objective(2);
  const auto slots_apart = [&] {
    return (with->chains() != without->chains()).any(1).sum().item<int64_t>();
  };
  for (int64_t t = 1; t < 9; ++t) {  // the first ends are at 3 and 6
    for (const auto* o : {&with, &without}) advance(**o, model, t);
    ASSERT_EQ(slots_apart(), 0) << t;
  }
  for (int64_t t = 9; t <= 12; ++t) {
    for (const auto* o : {&with, &without}) advance(**o, model, t);
  }
  EXPECT_EQ(slots_apart(), 2);
  for (int64_t t = 13; t < 15; ++t) {
    for (const auto* o : {&with, &without}) advance(**o, model, t);
  }
  for (int64_t t = 9; t < 15; ++t) advance(*late, model, t);
  EXPECT_TRUE(torch::equal(fresh_of(*with), fresh_of(*late)));
}

// A recovery may go back to a checkpoint without such chains or with another number of them. They
// then restart, as tempered chains do, whatever their states are.
TEST(FreshChains, BeginAnewWhereACheckpointHasNone) {
  SineModel model(9);
  const auto sampler = make_sampler("gwg", {}, model);
  const auto objective = [&](int64_t count) {
    return std::make_unique<PcdObjective>(model, *sampler, bars_and_stripes(3),
                                          PcdOptions{.batch = 4,
                                                     .buffer = 40,
                                                     .steps = 1,
                                                     .rungs = count,
                                                     .fresh = count,
                                                     .fresh_iterations = 6,
                                                     .seed = 3},
                                          100, torch::kCPU);
  };
  const auto same = [](const Objective& a, const Objective& b) {
    const NamedTensors first = a.saved_state(), second = b.saved_state();
    return std::equal(
        first.begin(), first.begin() + 3, second.begin(), second.begin() + 3,
        [](const auto& x, const auto& y) { return torch::equal(x.second, y.second); });
  };
  const auto none = objective(0), three = objective(3), begun = objective(2), now = objective(2);
  ASSERT_EQ(begun->saved_state().size(), 3 + 1);  // and which slots were visited
  for (const auto* other : {&none, &three}) {
    for (int64_t t = 1; t <= 20; ++t) advance(*now, model, t);
    ASSERT_FALSE(same(*now, *begun));
    now->load_state((*other)->saved_state(), "checkpoint.pt");
    EXPECT_TRUE(same(*now, *begun));
  }
}

// 24 spins, all pairs of which are coupled. The data are up, and so are the chains that began
// there. The field gives more than nine tenths of the mass to spins that are down. Only chains from
// noise reach them, half of which relax to either side.
TEST(FreshChains, FindWhatTheOthersNeverComeTo) {
  constexpr int64_t kSpins = 24, kIterations = 1000;
  const Dataset data{
      .name = "up", .train = torch::ones({40, kSpins}, torch::kUInt8), .height = 4, .width = 6};
  const torch::Tensor edges = torch::triu_indices(kSpins, kSpins, 1).t().contiguous();
  IsingModel model(edges, torch::full({edges.size(0)}, 0.15), torch::full({kSpins}, -0.05));
  const auto sampler = make_sampler("gwg", {}, model);
  const auto share_down = [&](int64_t fresh) {
    PcdObjective objective(model, *sampler, data,
                           {.batch = 20,
                            .buffer = 20,
                            .steps = 5,
                            .begin_at_data = true,
                            .fresh = fresh,
                            .fresh_iterations = 20,
                            .seed = 3},
                           kIterations, torch::kCPU);
    for (int64_t t = 1; t <= kIterations; ++t) advance(objective, model, t);
    const torch::Tensor up = objective.chains().to(torch::kFloat64).mean(1);
    return (up < 0.5).to(torch::kFloat64).mean().item<double>();
  };
  EXPECT_EQ(share_down(0), 0);
  EXPECT_GT(share_down(2), 0.2);
}

TEST(FreshChains, AreOfChainsThatPersist) {
  SineModel model(9);
  const auto sampler = make_sampler("gwg", {}, model);
  const auto objective = [&](const PcdOptions& options) {
    PcdObjective(model, *sampler, bars_and_stripes(3), options, 10, torch::kCPU);
  };
  EXPECT_ERROR(objective({.batch = 8, .buffer = 20, .from_data = true, .fresh = 3}),
               "fresh requires persistent chains, which objective cd does not have");
  EXPECT_ERROR(objective({.batch = 8, .buffer = 20, .fresh = 9}),
               "fresh is 9; it must be from 0 to the size of the batch, 8");
  EXPECT_ERROR(objective({.batch = 8, .buffer = 20, .fresh = 1, .fresh_iterations = 0}),
               "fresh-iters is 0; it must be 1 or more");
  Meeting meeting(2);
  const RankOfThreads first(meeting, 0);
  EXPECT_ERROR(PcdObjective(model, *sampler, bars_and_stripes(3),
                            {.batch = 8, .buffer = 20, .fresh = 3}, 10, torch::kCPU, first),
               "fresh requires a single process, but there are 2 ranks");
}

}  // namespace
}  // namespace isinglass::fresh_chains_test
