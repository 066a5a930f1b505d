// kernels/gibbs/fast/chromatic_table.cu against its CPU twin, and against sweeps without tables.
#include "kernels/gibbs/fast/chromatic_table.h"

#include "tests/kernels/lattice/random_graph.h"
#include "tests/simt/ring.h"

namespace isinglass {
namespace {

struct Outcome {
  std::vector<uint8_t> x;
  Sums energy;
  std::vector<double> acceptance, acceptance_sum;
  std::vector<int64_t> hops, hops_sum, non_finite;
  bool operator==(const Outcome&) const = default;
};

enum class By { kTable, kEnergies };

Outcome sweep(const Graph& graph, const Found& found, int64_t chains, int64_t launches,
              int64_t steps, Twin twin, By by = By::kTable) {
  Inputs inputs(23);
  Outcome o{inputs.states(chains * graph.sites, 2),
            {std::vector<double>(chains)},
            std::vector<double>(chains),
            std::vector<double>(chains),
            std::vector<int64_t>(chains),
            std::vector<int64_t>(chains),
            std::vector<int64_t>(chains)};
  const auto ids = inputs.ids(chains);
  const StepCounts counts{o.acceptance.data(), o.hops.data(), o.acceptance_sum.data(),
                          o.hops_sum.data(), o.non_finite.data()};
  cpu::lattice_evaluate(graph.lattice(), chains, o.x.data(), false, LocalTable::kGradient,
                        o.energy.values.data(), nullptr, nullptr, nullptr);
  std::vector<double> scratch(cuda::sweep_scratch(chains, graph.sites), NAN);
  for (int64_t n = 0; n < launches; ++n) {
    const int64_t rng[] = {77, 4 + n * steps};
    if (by == By::kTable) {
      (twin == Twin::kCpu ? cpu::table_sweep : cuda::table_sweep)(
          found.neighbourhoods, graph.colouring(), chains, steps, rng, ids.data(), o.x.data(),
          o.energy.values.data(), counts, scratch.data(), nullptr);
    } else {
      cpu::chromatic_sweep(graph.lattice(), graph.colouring(), chains, steps, rng, ids.data(),
                           nullptr, o.x.data(), o.energy.values.data(), counts, nullptr, nullptr);
    }
  }
  return o;
}

TEST(ChromaticTableTwins, SweepAlike) {
  for (const int64_t sites : {1, 7, 33, 150}) {
    const Graph graph(sites, 0.5, 6);
    const Found found(graph);
    for (const int64_t chains : {1, 31, 32, 70}) {
      SCOPED_TRACE(testing::Message() << sites << " sites, " << chains << " chains");
      expect_twins([&](Twin twin) { return sweep(graph, found, chains, 1, 3, twin); });
      EXPECT_TRUE(sweep(graph, found, chains, 1, 3, Twin::kCuda) ==
                  sweep(graph, found, chains, 1, 3, Twin::kCpu, By::kEnergies));
    }
  }
}

// A colour has more calls than a block has warps.
TEST(ChromaticTableTwins, WarpsTakeSeveralCalls) {
  const Graph graph(700, 0.5, 8);
  const Found found(graph);
  expect_twins([&](Twin twin) { return sweep(graph, found, 33, 1, 2, twin); });
}

// States that exceed a block: one launch per colour.
TEST(ChromaticTableTwins, SweepLargeStatesAlike) {
  const Graph graph(32801, 0.5, 8);
  const Found found(graph);
  expect_twins([&](Twin twin) { return sweep(graph, found, 2, 1, 2, twin); });
  EXPECT_TRUE(sweep(graph, found, 2, 2, 1, Twin::kCuda) ==
              sweep(graph, found, 2, 1, 2, Twin::kCpu, By::kEnergies));
}

// A launch of many steps gives the result of as many launches, bit for bit.
TEST(ChromaticTableTwins, ManyStepsALaunch) {
  const Graph graph(150, 0.5, 9);
  const Found found(graph);
  const Outcome one = sweep(graph, found, 40, 6, 1, Twin::kCuda);
  const Outcome many = sweep(graph, found, 40, 1, 6, Twin::kCuda);
  EXPECT_TRUE(one == many);
  EXPECT_EQ(one.energy.values, many.energy.values);
  EXPECT_NE(one.x, sweep(graph, found, 40, 0, 1, Twin::kCuda).x);
  EXPECT_TRUE(sweep(graph, found, 40, 1, 0, Twin::kCuda) ==
              sweep(graph, found, 40, 0, 1, Twin::kCuda));
}

// Uses tables in which every word that a chain draws equals threshold_word.
void expect_other_words_decide(int64_t sites) {
  const Graph graph(sites, 0.5, 7);
  Found found(graph);
  Inputs inputs(23);
  inputs.states(graph.sites, 2);
  const PhiloxStream draws{77, static_cast<uint32_t>(inputs.ids(1)[0]),
                           4};  // the draws that sweep() uses
  for (int64_t rank = 0; rank < graph.sites; ++rank) {
    for (int neighbourhood = 0; neighbourhood < kNeighbourhoods; ++neighbourhood) {
      found.threshold_word[graph.coloured[rank] * kNeighbourhoods + neighbourhood] =
          draws.site_word(Purpose::kSiteValue, static_cast<uint32_t>(rank));
    }
  }
  const Outcome plain = sweep(graph, found, 1, 1, 1, Twin::kCpu, By::kEnergies);
  EXPECT_GT(plain.hops[0], 0);
  EXPECT_TRUE(sweep(graph, found, 1, 1, 1, Twin::kCuda) == plain);
}

TEST(ChromaticTableTwins, OtherWordsDecideWhereTheFirstDoesNot) {
  expect_other_words_decide(150);
  expect_other_words_decide(32801);
}

TEST(ChromaticTableTwins, AreForManyChainsWhoseStatesFitAndForLargeStates) {
  const SharedMemory limit(simt::kTuring);
  EXPECT_TRUE(cuda::wants_table_sweep(512, 2500, 0));
  EXPECT_FALSE(cuda::wants_table_sweep(511, 2500, 0));
  EXPECT_FALSE(cuda::wants_table_sweep(4096, 20000, 0));
  simt::set_shared_memory_limit(simt::kHopper);
  EXPECT_TRUE(cuda::wants_table_sweep(4096, 20000, 0));
  EXPECT_TRUE(cuda::wants_table_sweep(1, 32801, 0));
}

}  // namespace
}  // namespace isinglass
