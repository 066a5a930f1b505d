// Sweeps with kept fields make the draws of sweeps that sum them at each visit, bit for bit,
// whether chains are cold or hot and whatever else changes their states.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kernels/gibbs/fast/kept_fields_cpu.h"
#include "kernels/lattice/exact_sums_cpu.h"

namespace isinglass::kept_fields_test {
namespace {

constexpr int64_t kChains = 11;  // two groups, the second not full

// A graph of two halves without edges within them (two colours), or a complete one (a colour for
// each site).
struct DenseGraph {
  int64_t sites;
  std::vector<double> unary, coupling;
  std::vector<int64_t> offset = {0}, colour_offset = {0};
  std::vector<int32_t> neighbour, coloured;
  SiteRule rule = SiteRule::kHeatBath;

  template <class Weight>
  DenseGraph(int64_t count, bool complete, Weight weight) : sites(count) {
    std::vector<double> of_pair(count * count);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < i; ++j) of_pair[i * count + j] = of_pair[j * count + i] = weight();
    }
    for (int64_t i = 0; i < count; ++i) {
      unary.push_back(weight());
      unary.push_back(weight());
      for (int64_t j = 0; j < count; ++j) {
        if (i == j || (!complete && i % 2 == j % 2)) continue;
        neighbour.push_back(static_cast<int32_t>(j));
        coupling.push_back(of_pair[i * count + j]);
      }
      offset.push_back(static_cast<int64_t>(neighbour.size()));
    }
    for (int64_t colour = 0; colour < (complete ? count : 2); ++colour) {
      for (int64_t i = colour; i < count; i += complete ? count : 2) {
        coloured.push_back(static_cast<int32_t>(i));
      }
      colour_offset.push_back(static_cast<int64_t>(coloured.size()));
    }
  }

  Lattice lattice() const {
    return {sites, 2, unary.data(), offset.data(), neighbour.data(), coupling.data(), 0};
  }
  Colouring colouring() const {
    return {static_cast<int64_t>(colour_offset.size()) - 1, colour_offset.data(), coloured.data(),
            rule};
  }
  // Returns the graph with weights rounded for exact sums.
  DenseGraph rounded() const {
    DenseGraph to = *this;
    EXPECT_TRUE(cpu::round_for_exact_sums(lattice(), to.unary.data(), to.coupling.data()));
    return to;
  }
};

struct Chains {
  std::vector<uint8_t> x;
  std::vector<double> energy = std::vector<double>(kChains), acceptance = energy,
                      acceptance_sum = energy;
  std::vector<int64_t> hops = std::vector<int64_t>(kChains), hops_sum = hops, non_finite = hops;
  std::vector<double> field;
  std::vector<uint8_t> state;
  std::vector<int32_t> calm = std::vector<int32_t>(2);

  explicit Chains(int64_t sites)
      : x(kChains * sites), field(2 * sites * 8), state(kChains * sites) {
    std::mt19937 random(5);
    for (uint8_t& value : x) value = random() & 1;
  }
  StepCounts counts() {
    return {acceptance.data(), hops.data(), acceptance_sum.data(), hops_sum.data(),
            non_finite.data()};
  }
};

enum class How { kPlain, kKept, kSummed };

// Makes sweeps at the β of each phase. The states are disturbed at the start of the last phase.
Chains run(const DenseGraph& graph, How how, int32_t* most_calm = nullptr) {
  Chains chains(graph.sites);
  std::vector<int64_t> ids(kChains);
  for (int64_t c = 0; c < kChains; ++c) ids[c] = 3 * c + 1;
  int64_t rng[] = {17, 0};
  const std::vector<double> phases = {0.02, 3, 0.02, 0.5, 3};
  for (size_t phase = 0; phase < phases.size(); ++phase) {
    const std::vector<double> beta(kChains, phases[phase]);
    if (phase + 1 == phases.size()) chains.x[2] ^= 1;
    for (int step = 0; step < 20; ++step, ++rng[1]) {
      if (how == How::kSummed) std::fill(chains.calm.begin(), chains.calm.end(), 0);
      if (how == How::kPlain) {
        cpu::chromatic_sweep(graph.lattice(), graph.colouring(), kChains, 1, rng, ids.data(),
                             beta.data(), chains.x.data(), chains.energy.data(), chains.counts(),
                             nullptr, nullptr);
      } else {
        cpu::kept_sweep(graph.lattice(), graph.colouring(), kChains, 1, rng, ids.data(),
                        beta.data(), {chains.field.data(), chains.state.data(), chains.calm.data()},
                        chains.x.data(), chains.energy.data(), chains.counts());
      }
      if (most_calm) {
        *most_calm =
            std::max(*most_calm, *std::min_element(chains.calm.begin(), chains.calm.end()));
      }
    }
  }
  return chains;
}

void expect_same(const Chains& a, const Chains& b) {
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.energy, b.energy);
  EXPECT_EQ(a.hops, b.hops);
  EXPECT_EQ(a.hops_sum, b.hops_sum);
  EXPECT_EQ(a.non_finite, b.non_finite);
}

TEST(KeptFields, WholeWeightsGiveTheSameBits) {
  std::mt19937 random(3);
  const auto weight = [&] { return static_cast<double>(random() % 9) - 4; };
  for (const bool complete : {false, true}) {
    for (const SiteRule rule : {SiteRule::kHeatBath, SiteRule::kMetropolis}) {
      SCOPED_TRACE(complete ? "complete" : "bipartite");
      DenseGraph graph(80, complete, weight);
      graph.rule = rule;
      const DenseGraph rounded = graph.rounded();
      EXPECT_EQ(rounded.unary, graph.unary);
      EXPECT_EQ(rounded.coupling, graph.coupling);
      int32_t calm = 0;
      const Chains kept = run(rounded, How::kKept, &calm);
      EXPECT_EQ(calm, cpu::kCalmSweeps);  // fields have been kept
      EXPECT_GT(*std::min_element(kept.hops_sum.begin(), kept.hops_sum.end()), 0);
      expect_same(kept, run(graph, How::kPlain));
      expect_same(kept, run(rounded, How::kSummed));
    }
  }
}

TEST(KeptFields, OtherWeightsDoNotDrift) {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  for (const bool complete : {false, true}) {
    SCOPED_TRACE(complete);
    const DenseGraph graph(80, complete, [&] { return 3 * normal(random); });
    const DenseGraph rounded = graph.rounded();
    EXPECT_NE(rounded.coupling, graph.coupling);
    for (size_t n = 0; n < graph.coupling.size(); ++n) {
      EXPECT_NEAR(rounded.coupling[n], graph.coupling[n], 1e-12);
    }
    for (int64_t k = 0; k < 2 * graph.sites; ++k) {
      EXPECT_NEAR(rounded.unary[k], graph.unary[k], 1e-12);
    }
    int32_t calm = 0;
    const Chains kept = run(rounded, How::kKept, &calm), plain = run(graph, How::kPlain);
    EXPECT_EQ(calm, cpu::kCalmSweeps);
    expect_same(kept, run(rounded, How::kSummed));
    EXPECT_EQ(kept.x, plain.x);
    for (int64_t c = 0; c < kChains; ++c) EXPECT_NEAR(kept.energy[c], plain.energy[c], 1e-8);
  }
}

}  // namespace
}  // namespace isinglass::kept_fields_test
