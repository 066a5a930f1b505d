// kernels/gibbs/cluster_exchange.cu against its CPU twin, and both against the energies of the
// states.
#include "kernels/gibbs/cluster_exchange.h"

#include <set>

#include "tests/simt/ring.h"

namespace isinglass {
namespace {

struct Outcome {
  std::vector<uint8_t> x;
  std::vector<double> energy;
  bool operator==(const Outcome&) const = default;
};

// Weights of a few binary digits have exact sums in any order.
void shorten(std::vector<double>& weights) {
  for (double& weight : weights) weight = std::round(8 * weight) / 8;
}

struct Case {
  int64_t groups, group, sites;
  int categories;
  bool tables = false, two_betas = false, broken = false;
};

Outcome run(const Case& of, int64_t rounds, Twin twin) {
  Inputs inputs(4);
  const int64_t chains = of.groups * of.group;
  Ring ring(of.sites, of.categories, inputs);
  if (of.tables) ring.add_tables(of.categories, inputs);
  for (auto* weights : {&ring.unary, &ring.coupling, &ring.table}) shorten(*weights);
  if (of.broken) ring.unary[0] = NAN;
  const Lattice lattice = ring.lattice(of.sites, of.categories);
  const auto ids = inputs.ids(chains);
  Outcome o{inputs.states(chains * of.sites, of.categories), std::vector<double>(chains)};
  cpu::lattice_evaluate(lattice, chains, o.x.data(), false, LocalTable::kGradient, o.energy.data(),
                        nullptr, nullptr, nullptr);
  std::vector<double> beta(chains, 0.5);
  if (of.two_betas) beta.back() = 1;
  std::vector<int32_t> work(2 * of.sites * of.groups * (of.group / 2), -1);
  for (int64_t round = 0; round < rounds; ++round) {
    const int64_t rng[] = {7, (round + 1) * kExchangeSteps - 1};
    (twin == Twin::kCpu ? cpu::exchange_clusters : cuda::exchange_clusters)(
        lattice, chains, of.group, rng, ids.data(), of.two_betas ? beta.data() : nullptr,
        o.x.data(), o.energy.data(), work.data(), nullptr);
  }
  if (of.broken) return o;
  std::vector<double> anew(chains);
  cpu::lattice_evaluate(lattice, chains, o.x.data(), false, LocalTable::kGradient, anew.data(),
                        nullptr, nullptr, nullptr);
  EXPECT_EQ(o.energy, anew);
  return o;
}

TEST(ClusterExchangeTwins, ExchangeAlike) {
  for (const auto& [groups, group] : {std::pair{3, 2}, {1, 5}, {2, 10}}) {
    for (const int64_t sites : {1, 7, 300}) {
      for (const int categories : {2, 5}) {
        for (const bool tables : {false, true}) {
          const Case of{groups, group, sites, categories, tables};
          expect_twins([&](Twin twin) { return run(of, 6, twin); });
          const Outcome before = run(of, 0, Twin::kCpu), after = run(of, 6, Twin::kCpu);
          EXPECT_TRUE(sites == 1 || before.x != after.x);
          // The values of a site are those of before, in other chains of the group.
          for (int64_t site = 0; site < groups * sites; ++site) {
            const int64_t first = site / sites * group * sites + site % sites;
            std::multiset<int> of_before, of_after;
            for (int64_t c = 0; c < group; ++c) {
              of_before.insert(before.x[first + c * sites]);
              of_after.insert(after.x[first + c * sites]);
            }
            EXPECT_EQ(of_before, of_after);
          }
        }
      }
    }
  }
}

TEST(ClusterExchangeTwins, LeaveChainsOfOtherBetasAndBrokenEnergies) {
  const Case of{1, 2, 40, 2, false, true};
  expect_twins([&](Twin twin) { return run(of, 6, twin); });
  EXPECT_TRUE(run(of, 6, Twin::kCpu) == run(of, 0, Twin::kCpu));
  // An exchange that changes site 0, whose energies are not finite, is not made.
  const Case broken{1, 2, 40, 2, false, false, true};
  for (const Twin twin : {Twin::kCpu, Twin::kCuda}) {
    const Outcome before = run(broken, 0, twin), after = run(broken, 6, twin);
    EXPECT_EQ(before.x[0], after.x[0]);
  }
}

// Each chain meets each other one of its group once in a turn.
TEST(ClusterExchange, PairsAllChainsOfAGroup) {
  for (const int64_t group : {2, 3, 4, 7, 10}) {
    std::multiset<std::pair<int64_t, int64_t>> met;
    for (int64_t turn = 0; turn < group; ++turn) {
      std::set<int64_t> busy;
      const int64_t rng[] = {0, turn * kExchangeSteps};
      for (int64_t p = 0; p < group / 2; ++p) {
        const ChainPair pair = chain_pair(group, group / 2 + p, rng);  // of the second group
        EXPECT_TRUE(pair.first >= group && pair.first < 2 * group);
        EXPECT_TRUE(pair.second >= group && pair.second < 2 * group);
        if (pair.first == pair.second) continue;
        EXPECT_TRUE(busy.insert(pair.first).second && busy.insert(pair.second).second);
        met.insert(std::minmax(pair.first, pair.second));
      }
    }
    for (int64_t i = group; i < 2 * group; ++i) {
      for (int64_t j = i + 1; j < 2 * group; ++j) EXPECT_EQ(met.count({i, j}), 1U) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace isinglass
