// Tables of neighbourhoods (kernels/lattice/fast/neighbourhood_table.h) against the functions that
// they stand for, and sweeps by neighbourhoods against sweeps without.
#include "kernels/lattice/fast/neighbourhood_table.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "kernels/base/vectors_cpu.h"
#include "kernels/gibbs/fast/chromatic_table_cpu.h"

namespace isinglass {
namespace {

// A random graph of at most four neighbours a site, coloured.
struct Graph {
  int64_t sites;
  std::vector<double> unary, coupling;
  std::vector<int64_t> offset = {0}, colour_offset = {0};
  std::vector<int32_t> neighbour, coloured;

  Graph(int64_t count, double field, unsigned seed) : sites(count) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<std::vector<std::pair<int32_t, double>>> of(static_cast<std::size_t>(count));
    std::set<std::pair<int32_t, int32_t>> edges;
    for (int64_t trial = 0; count > 1 && trial < 6 * count; ++trial) {
      const auto a = static_cast<int32_t>(random() % count),
                 b = static_cast<int32_t>(random() % count);
      if (a == b || of[a].size() == 4 || of[b].size() == 4) continue;
      if (!edges.insert(std::minmax(a, b)).second) continue;
      const double c = normal(random);
      of[a].emplace_back(b, c);
      of[b].emplace_back(a, c);
    }
    for (int64_t i = 0; i < 2 * count; ++i) unary.push_back(field * normal(random));
    for (const auto& around : of) {
      for (const auto& [site, c] : around) {
        neighbour.push_back(site);
        coupling.push_back(c);
      }
      offset.push_back(static_cast<int64_t>(neighbour.size()));
    }
    colour(of);
  }

  void colour(const std::vector<std::vector<std::pair<int32_t, double>>>& of) {
    std::vector<int> colour(of.size(), -1);
    for (std::size_t i = 0; i < of.size(); ++i) {
      std::set<int> taken;
      for (const auto& near : of[i]) taken.insert(colour[near.first]);
      while (taken.count(++colour[i])) {
      }
    }
    for (int k = 0; k < 5; ++k) {
      for (std::size_t i = 0; i < of.size(); ++i) {
        if (colour[i] == k) coloured.push_back(static_cast<int32_t>(i));
      }
      colour_offset.push_back(static_cast<int64_t>(coloured.size()));
    }
  }

  Lattice lattice() const {
    return {sites, 2, unary.data(), offset.data(), neighbour.data(), coupling.data(), 0.25};
  }
  Colouring colouring() const { return {5, colour_offset.data(), coloured.data()}; }
  std::vector<uint8_t> states(int64_t chains, unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<uint8_t> x(static_cast<std::size_t>(chains * sites));
    for (uint8_t& value : x) value = random() & 1;
    return x;
  }
};

struct Found {
  std::vector<int32_t> neighbour;
  std::vector<double> flip_energy, half_flip;
  std::vector<float> gradient;
  std::vector<uint32_t> threshold_word;
  NeighbourhoodTable neighbourhoods;

  explicit Found(const Graph& graph)
      : neighbour(graph.sites * 4),
        flip_energy(graph.sites * 16),
        half_flip(graph.sites * 16),
        gradient(graph.sites * 16),
        threshold_word(graph.sites * 16) {
    const double constant = cpu::tabulate_neighbourhoods(
        graph.lattice(), {neighbour.data(), flip_energy.data(), half_flip.data(), gradient.data(),
                          threshold_word.data()});
    neighbourhoods = {graph.sites,      constant,        neighbour.data(),     flip_energy.data(),
                      half_flip.data(), gradient.data(), threshold_word.data()};
  }

  int64_t at(const uint8_t* x, int64_t site) const {
    int64_t neighbourhood = 0;
    for (int n = 0; n < 4; ++n) {
      const int32_t other = neighbour[site * 4 + n];
      if (other < neighbourhoods.sites) neighbourhood += x[other] << n;
    }
    return site * 16 + neighbourhood;
  }
};

// The machine has the instructions.
class NeighbourhoodTableTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::has_avx512()) GTEST_SKIP() << "this machine has no AVX-512";
  }
};

TEST_F(NeighbourhoodTableTest, AnswersAreThoseOfTheLattice) {
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
        site_gradient(lattice, x.data(), i, false, gradient.data());
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
TEST_F(NeighbourhoodTableTest, OneWordIsUndecided) {
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

TEST_F(NeighbourhoodTableTest, OtherLatticesHaveNone) {
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

// Chains take turns at these β; their order, and thresholds.
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
    cpu::table_sweep(*neighbourhoods, graph.colouring(), chains, steps, rng, ids.data(),
                     tempered ? &own : nullptr, out.x.data(), out.energy.data(), counts);
  } else {
    cpu::chromatic_sweep(graph.lattice(), graph.colouring(), chains, steps, rng, ids.data(),
                         tempered ? tempered->beta.data() : nullptr, out.x.data(),
                         out.energy.data(), counts, nullptr);
  }
  return out;
}

void expect_same(const Swept& a, const Swept& b) {
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.hops_sum, b.hops_sum);
  EXPECT_EQ(a.acceptance_sum, b.acceptance_sum);
  for (std::size_t c = 0; c < a.energy.size(); ++c) EXPECT_NEAR(a.energy[c], b.energy[c], 1e-9);
}

TEST_F(NeighbourhoodTableTest, SweepsAreThoseWithoutATable) {
  for (const int64_t sites : {1, 7, 16, 33, 150}) {
    for (const double field : {0.5, 30.0}) {
      const Graph graph(sites, field, 6);
      const Found found(graph);
      for (const int64_t chains : {1, 5, 16, 17, 40}) {
        SCOPED_TRACE(testing::Message() << sites << " sites, " << chains << " chains");
        expect_same(sweep(graph, &found.neighbourhoods, chains, 9),
                    sweep(graph, nullptr, chains, 9));
        const Tempered tempered(found.neighbourhoods, chains);
        expect_same(sweep(graph, &found.neighbourhoods, chains, 9, &tempered),
                    sweep(graph, nullptr, chains, 9, &tempered));
      }
    }
  }
}

// Tables in which every word that is drawn is threshold_word.
TEST_F(NeighbourhoodTableTest, OtherWordsDecideWhereTheFirstDoesNot) {
  const Graph graph(150, 0.5, 7);
  Found found(graph);
  const Draws draws{77, 3, 4};  // of sweep()
  for (int64_t rank = 0; rank < graph.sites; ++rank) {
    for (int neighbourhood = 0; neighbourhood < 16; ++neighbourhood) {
      found.threshold_word[graph.coloured[rank] * 16 + neighbourhood] =
          draws.site_word(Purpose::kSiteValue, static_cast<uint32_t>(rank));
    }
  }
  expect_same(sweep(graph, &found.neighbourhoods, 1, 1), sweep(graph, nullptr, 1, 1));
  Tempered tempered(found.neighbourhoods, 1);
  tempered.beta = {0.7};
  tempered.table = {2};
  ASSERT_EQ(tempered.rows, graph.sites);
  for (int t = 0; t < 4; ++t) {
    std::copy(found.threshold_word.begin(), found.threshold_word.end(),
              tempered.word.begin() + t * static_cast<int64_t>(found.threshold_word.size()));
  }
  expect_same(sweep(graph, &found.neighbourhoods, 1, 1, &tempered),
              sweep(graph, nullptr, 1, 1, &tempered));
}

}  // namespace
}  // namespace isinglass
