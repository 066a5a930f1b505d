// Steps of jump samplers with a table of neighbourhoods (kernels/jump/fast/lattice_jump.h) against
// the kernels without it, in every instruction set.
#include "kernels/jump/fast/lattice_jump.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/instruction_sets.h"
#include "tests/kernels/lattice/random_graph.h"

namespace isinglass::lattice_jump_test {
namespace {

constexpr int64_t kSteps = 12;
constexpr uint64_t kSeed = 77;

struct Jumped {
  std::vector<uint8_t> x;
  std::vector<double> energy, acceptance, acceptance_sum;
  std::vector<int64_t> ids, hops, hops_sum, non_finite;

  Jumped(const Graph& graph, int64_t chains) : x(graph.states(chains, 5)) {
    const auto count = static_cast<std::size_t>(chains);
    for (auto* numbers : {&energy, &acceptance, &acceptance_sum}) numbers->resize(count);
    for (auto* numbers : {&hops, &hops_sum, &non_finite}) numbers->resize(count);
    for (int64_t c = 0; c < chains; ++c) {
      ids.push_back(3 + 2 * c);
      energy[c] = energy_of(graph, x.data() + c * graph.sites);
    }
  }
  static double energy_of(const Graph& graph, const uint8_t* x) {
    double energy = graph.lattice().constant;
    for (int64_t i = 0; i < graph.sites; ++i) energy += site_energy(graph.lattice(), x, i);
    return energy;
  }
  StepCounts counts() {
    return {acceptance.data(), hops.data(), acceptance_sum.data(), hops_sum.data(),
            non_finite.data()};
  }
};

Jumped by_table(const Graph& graph, const JumpShape& shape, double scale) {
  const Found found(graph);
  std::vector<int32_t> threshold(static_cast<std::size_t>(graph.sites) * kSiteThresholds);
  cpu::find_thresholds(shape, found.neighbourhoods, &scale, threshold.data(), nullptr);
  Jumped run(graph, shape.chains);
  constexpr int64_t kAtOnce = 3;
  for (int64_t t = 0; t < kSteps; t += kAtOnce) {
    const int64_t rng[2] = {kSeed, t};
    cpu::lattice_jump_step({kAtOnce, shape, found.neighbourhoods, threshold.data(), rng,
                            run.ids.data(), run.x.data(), run.energy.data(), false, run.counts()},
                           nullptr);
  }
  return run;
}

std::vector<float> gradients(const Graph& graph, const std::vector<uint8_t>& x) {
  std::vector<float> gradient(x.size());
  for (std::size_t first = 0; first < x.size(); first += graph.sites) {
    for (int64_t i = 0; i < graph.sites; ++i) {
      local_table(graph.lattice(), x.data() + first, i, false, LocalTable::kGradient,
                  gradient.data() + first);
    }
  }
  return gradient;
}

Jumped without(const Graph& graph, const JumpShape& shape, double scale) {
  Jumped run(graph, shape.chains);
  const ChainScale scales{&scale, 0};
  std::vector<uint8_t> y(run.x.size());
  std::vector<double> forward(run.energy.size()), backward(run.energy.size());
  for (int64_t t = 0; t < kSteps; ++t) {
    const int64_t rng[2] = {kSeed, t};
    cpu::draw_jump(shape, run.x.data(), gradients(graph, run.x).data(), rng, run.ids.data(), scales,
                   y.data(), forward.data(), nullptr);
    cpu::score_jump(shape, y.data(), gradients(graph, y).data(), run.x.data(), scales,
                    backward.data(), nullptr);
    for (int64_t c = 0; c < shape.chains; ++c) {
      uint8_t* from = run.x.data() + c * graph.sites;
      const uint8_t* to = y.data() + c * graph.sites;
      const double proposed = Jumped::energy_of(graph, to);
      const ProposalScores scores{&run.energy[c], &proposed, &forward[c], &backward[c]};
      const PhiloxStream draws = step_draws(rng, run.ids[c], 0);
      const Verdict verdict = metropolis(scores, 0, draws.uniform(Purpose::kAccept));
      int64_t hops = 0;
      for (int64_t i = 0; verdict.accept && i < graph.sites; ++i) hops += from[i] != to[i];
      count_verdict(run.counts(), c, verdict, hops);
      if (!verdict.accept) continue;
      std::copy_n(to, graph.sites, from);
      run.energy[c] = proposed;
    }
  }
  return run;
}

TEST(LatticeJump, StepsAreThoseWithoutATable) {
  double accepted = 0, all = 0;
  for (const int64_t sites : {1, 16, 33, 150}) {
    const Graph graph(sites, 0.5, 6);
    for (const int64_t chains : {1, 16, 21, 70}) {
      SCOPED_TRACE(testing::Message() << sites << " sites, " << chains << " chains");
      const JumpShape shape{chains, sites, 2, false, JumpRule::kInterpolation, Balancing::kBarker};
      const double scale = 0.5;
      const Jumped plain = without(graph, shape, scale);
      std::vector<double> energy;  // the same bits in every set
      in_every_instruction_set([&] {
        if (!cpu::has_neighbourhood_table(graph.lattice())) return;
        const Jumped own = by_table(graph, shape, scale);
        EXPECT_EQ(own.x, plain.x);
        EXPECT_EQ(own.hops_sum, plain.hops_sum);
        EXPECT_EQ(own.non_finite, plain.non_finite);
        if (energy.empty()) energy = own.energy;
        EXPECT_EQ(own.energy, energy);
        for (std::size_t c = 0; c < energy.size(); ++c) {
          EXPECT_NEAR(own.energy[c], plain.energy[c], 1e-9);
          EXPECT_NEAR(own.acceptance_sum[c], plain.acceptance_sum[c], 1e-9);
        }
      });
      EXPECT_FALSE(energy.empty());
      for (const double sum : plain.acceptance_sum) accepted += sum;
      all += static_cast<double>(chains * kSteps);
    }
  }
  EXPECT_GT(accepted, 0.1 * all);
  EXPECT_LT(accepted, 0.95 * all);
}

}  // namespace
}  // namespace isinglass::lattice_jump_test
