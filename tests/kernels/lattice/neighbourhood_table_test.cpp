// Tables of neighbourhoods (kernels/lattice/fast/neighbourhood_table.h) against the functions that
// they tabulate, and sweeps with tables against sweeps without.
#include "kernels/lattice/fast/neighbourhood_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/gibbs/fast/chromatic_table_cpu.h"
#include "tests/kernels/instruction_sets.h"
#include "tests/kernels/lattice/random_graph.h"

namespace isinglass::neighbourhood_table_test {
namespace {

TEST(NeighbourhoodTable, AnswersAreThoseOfTheLattice) {
  for (const double field : {0.0, 1.0, 300.0}) {
    const Graph graph(60, field, 1);
    const Found found(graph);
    const Lattice lattice = graph.lattice();
    for (unsigned seed = 0; seed < 20; ++seed) {
      const std::vector<uint8_t> x = graph.states(1, seed);
      double energy = lattice.constant, by_table = found.neighbourhoods.constant;
      std::vector<float> gradient(graph.sites);
      for (int64_t i = 0; i < graph.sites; ++i) {
        const int64_t at = found.at(x.data(), i);
        EXPECT_EQ(found.flip_energy[at], flip_energy(lattice, x.data(), i));
        local_table(lattice, x.data(), i, false, LocalTable::kGradient, gradient.data());
        EXPECT_EQ(found.gradient[at], gradient[i]);
        energy += site_energy(lattice, x.data(), i);
        by_table += x[i] ? found.half_flip[at] : -found.half_flip[at];
      }
      EXPECT_NEAR(energy, by_table, 1e-12 * (1 + field * static_cast<double>(graph.sites)));
    }
  }
}

// Below the threshold word the least certain number gives 0, above it the least certain one gives
// 1.
TEST(NeighbourhoodTable, OneWordIsUndecided) {
  constexpr uint32_t kMost = 0xffffffff;
  for (const double field : {0.1, 1.0, 5.0, 40.0, 1000.0}) {
    const Found found(Graph(60, field, 2));
    for (std::size_t i = 0; i < found.threshold_word.size(); ++i) {
      const BernoulliConditional weights(found.flip_energy[i]);
      const uint32_t word = found.threshold_word[i];
      if (word > 0) {
        EXPECT_FALSE(weights.one(uniform_from_words(word - 1, kMost)));
      }
      EXPECT_FALSE(weights.one(uniform_from_words(word, 0)));
      if (word < kMost) {
        EXPECT_TRUE(weights.one(uniform_from_words(word + 1, 0)));
      }
    }
  }
}

TEST(NeighbourhoodTable, OtherLatticesHaveNone) {
  Graph graph(10, 1, 3);
  EXPECT_TRUE(cpu::has_neighbourhood_table(graph.lattice()));
  graph.unary[4] = INFINITY;
  EXPECT_FALSE(cpu::has_neighbourhood_table(graph.lattice()));
  Graph star(2, 1, 3);  // five neighbours of one site
  star.offset = {0, 5, 5};
  star.neighbour = {1, 1, 1, 1, 1};
  star.coupling = {1, 1, 1, 1, 1};
  EXPECT_FALSE(cpu::has_neighbourhood_table(star.lattice()));
}

struct Swept {
  std::vector<uint8_t> x;
  std::vector<double> energy, acceptance, acceptance_sum;
  std::vector<int64_t> hops, hops_sum, non_finite;
};

// The chains alternate among these β. Holds their order and the thresholds.
struct Tempered {
  static constexpr double kBetas[] = {0, 0.25, 0.7, 1};
  std::vector<double> beta;
  std::vector<int64_t> chain, table;
  std::vector<int32_t> row;
  std::vector<uint32_t> word;
  int64_t rows;

  Tempered(const NeighbourhoodTable& neighbourhoods, int64_t chains) {
    row.resize(static_cast<std::size_t>(neighbourhoods.sites));
    rows = cpu::find_rows(neighbourhoods, row.data());
    const int64_t size = rows * kNeighbourhoods;
    word.resize(std::size(kBetas) * size);
    for (int64_t c = 0; c < chains; ++c) beta.push_back(kBetas[7 * c % 4]);
    for (int64_t t = 0; t < 4; ++t) {
      cpu::tabulate_thresholds(neighbourhoods, row.data(), kBetas[t], word.data() + t * size);
      for (int64_t c = 0; c < chains; ++c) {
        if (beta[c] != kBetas[t]) continue;
        chain.push_back(c);
        table.push_back(t);
      }
    }
  }
  cpu::TemperedThresholds pointers() const {
    return {rows, row.data(), kBetas, word.data(), chain.data(), table.data()};
  }
};

// neighbourhoods null: without; tempered null: all at β = 1
Swept sweep(const Graph& graph, const NeighbourhoodTable* neighbourhoods, int64_t chains,
            int64_t steps, const Tempered* tempered = nullptr) {
  const auto count = static_cast<std::size_t>(chains);
  Swept out{graph.states(chains, 5),    std::vector<double>(count),  std::vector<double>(count),
            std::vector<double>(count), std::vector<int64_t>(count), std::vector<int64_t>(count),
            std::vector<int64_t>(count)};
  std::vector<int64_t> ids(count);
  for (std::size_t c = 0; c < count; ++c) ids[c] = static_cast<int64_t>(3 + 2 * c);
  const int64_t rng[2] = {77, 4};
  const StepCounts counts{out.acceptance.data(), out.hops.data(), out.acceptance_sum.data(),
                          out.hops_sum.data(), out.non_finite.data()};
  if (neighbourhoods) {
    const cpu::TemperedThresholds own = tempered ? tempered->pointers() : cpu::TemperedThresholds();
    cpu::tempered_table_sweep(*neighbourhoods, graph.colouring(), chains, steps, rng, ids.data(),
                              tempered ? &own : nullptr, out.x.data(), out.energy.data(), counts);
  } else {
    cpu::chromatic_sweep(graph.lattice(), graph.colouring(), chains, steps, rng, ids.data(),
                         tempered ? tempered->beta.data() : nullptr, out.x.data(),
                         out.energy.data(), counts, nullptr, nullptr);
  }
  return out;
}

void expect_same(const Swept& a, const Swept& b) {
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.hops_sum, b.hops_sum);
  EXPECT_EQ(a.acceptance_sum, b.acceptance_sum);
  for (std::size_t c = 0; c < a.energy.size(); ++c) EXPECT_NEAR(a.energy[c], b.energy[c], 1e-9);
}

// Sweeps by the table are those without, and have the same bits in every instruction set.
void expect_alike(const Graph& graph, const Found& found, int64_t chains, int64_t steps,
                  const Tempered* tempered = nullptr) {
  const Swept plain = sweep(graph, nullptr, chains, steps, tempered);
  std::vector<double> energy;
  in_every_instruction_set([&] {
    if (!cpu::has_neighbourhood_table(graph.lattice())) return;
    const Swept own = sweep(graph, &found.neighbourhoods, chains, steps, tempered);
    expect_same(own, plain);
    if (energy.empty()) energy = own.energy;
    EXPECT_EQ(own.energy, energy);
  });
  EXPECT_FALSE(energy.empty());
}

TEST(NeighbourhoodTable, SweepsAreThoseWithoutATable) {
  for (const int64_t sites : {1, 7, 16, 33, 150}) {
    for (const double field : {0.5, 30.0}) {
      const Graph graph(sites, field, 6);
      const Found found(graph);
      for (const int64_t chains : {1, 5, 16, 17, 40}) {
        SCOPED_TRACE(testing::Message() << sites << " sites, " << chains << " chains");
        expect_alike(graph, found, chains, 9);
        const Tempered tempered(found.neighbourhoods, chains);
        expect_alike(graph, found, chains, 9, &tempered);
      }
    }
  }
}

// Uses tables in which every drawn word equals threshold_word.
TEST(NeighbourhoodTable, OtherWordsDecideWhereTheFirstDoesNot) {
  const Graph graph(150, 0.5, 7);
  Found found(graph);
  const PhiloxStream draws{77, 3, 4};  // the draws that sweep() uses
  for (int64_t rank = 0; rank < graph.sites; ++rank) {
    for (int neighbourhood = 0; neighbourhood < 16; ++neighbourhood) {
      found.threshold_word[graph.coloured[rank] * 16 + neighbourhood] =
          draws.site_word(Purpose::kSiteValue, static_cast<uint32_t>(rank));
    }
  }
  expect_alike(graph, found, 1, 1);
  Tempered tempered(found.neighbourhoods, 1);
  tempered.beta = {0.7};
  tempered.table = {2};
  ASSERT_EQ(tempered.rows, graph.sites);
  for (int t = 0; t < 4; ++t) {
    std::copy(found.threshold_word.begin(), found.threshold_word.end(),
              tempered.word.begin() + t * static_cast<int64_t>(found.threshold_word.size()));
  }
  expect_alike(graph, found, 1, 1, &tempered);
}

}  // namespace
}  // namespace isinglass::neighbourhood_table_test
