// kernels/tempering/swap.cu against its CPU twin.
#include "kernels/tempering/swap.h"

#include <numeric>

#include "tests/simt/twins.h"

namespace isinglass {
namespace {

struct Outcome {
  std::vector<int64_t> chain, end, trips, hops, hops_sum, own_hops, own_hops_sum, broken,
      own_broken;
  std::vector<double> beta, scale, energy, rejection, acceptance, delta_u, top_energy;
  std::vector<double> step, sum, own_step, own_sum;
  std::vector<int16_t> history;
  std::vector<uint8_t> x, states;
  bool operator==(const Outcome&) const = default;
};

// Makes ten rounds of swaps of ensembles on a ladder. The energies of chains move with them.
Outcome run(int64_t ensembles, int64_t rungs, int64_t scales, bool linear, Twin twin) {
  constexpr int64_t kSites = 37, kHistory = 4, kDraws = 3;
  const bool cpu = twin == Twin::kCpu;
  Inputs inputs(21);
  const int64_t chains = ensembles * rungs;
  const auto ids = inputs.ids(ensembles);
  const auto start = inputs.reals<double>(chains, 1), target = inputs.reals<double>(chains, 3);
  const auto of_rungs = inputs.reals<double>(rungs * scales, 1);
  std::vector<double> beta(rungs);
  for (int64_t i = 0; i < rungs; ++i) beta[i] = static_cast<double>(i) / (rungs - 1);
  Outcome o;
  o.chain.resize(chains);
  std::iota(o.chain.begin(), o.chain.end(), 0);
  for (auto* t : {&o.end, &o.hops, &o.hops_sum, &o.broken}) t->assign(chains, 0);
  for (auto* t : {&o.trips, &o.own_hops, &o.own_hops_sum, &o.own_broken}) t->assign(ensembles, 0);
  for (auto* t : {&o.beta, &o.energy, &o.acceptance, &o.step, &o.sum}) t->assign(chains, 0);
  for (auto* t : {&o.top_energy, &o.own_step, &o.own_sum}) t->assign(ensembles, 0);
  o.scale.assign(chains * scales, 0);
  o.rejection.assign(chains - ensembles, 0);
  o.delta_u.assign(2 * kDraws * (chains - ensembles), 0);
  o.history.assign(kHistory * rungs, 0);
  o.states = inputs.states(chains * kSites, 256);
  o.x.assign(ensembles * kSites, 0);
  auto fresh = inputs.states(ensembles * kSites, 256);
  for (int64_t t = 0; t < 10; ++t) {
    const int64_t rng[] = {99, 5 + t};
    for (int64_t c = 0; c < chains; ++c) {
      o.sum[c] = 0.01 * static_cast<double>(c + t);
      o.hops_sum[c] = c + t;
      o.broken[c] = c % 3;
    }
    const ReferenceRows rows{{{o.states.data(), fresh.data(), kSites}}, 1};
    (cpu ? cpu::replace_reference : cuda::replace_reference)(ensembles, rungs, rng, o.chain.data(),
                                                             rows, nullptr);
    const Ladder ladder{ensembles, rungs, scales, beta.data(), of_rungs.data()};
    const RungChains at{o.chain.data(),
                        o.beta.data(),
                        o.scale.data(),
                        linear ? start.data() : nullptr,
                        linear ? target.data() : nullptr,
                        linear ? nullptr : start.data(),
                        linear ? nullptr : target.data(),
                        o.energy.data()};
    const SwapCounts counts{o.rejection.data(),
                            o.acceptance.data(),
                            o.end.data(),
                            o.trips.data(),
                            o.history.data(),
                            kHistory,
                            o.delta_u.data(),
                            7,
                            2,
                            kDraws,
                            linear};
    const TopChains top{
        o.states.data(),
        o.x.data(),
        kSites,
        o.top_energy.data(),
        2,
        {o.step.data(), o.hops.data(), o.sum.data(), o.hops_sum.data(), o.broken.data()},
        {o.own_step.data(), o.own_hops.data(), o.own_sum.data(), o.own_hops_sum.data(),
         o.own_broken.data()}};
    (cpu ? cpu::swap_rungs : cuda::swap_rungs)(ladder, at, counts, top, rng, ids.data(), nullptr);
  }
  return o;
}

TEST(SwapTwins, MoveAlike) {
  for (const int64_t rungs : {2, 3, 40, 300}) {
    for (const int64_t scales : {0, 1, 2}) {
      for (const bool linear : {true, false}) {
        const auto outcome = [&](Twin twin) { return run(3, rungs, scales, linear, twin); };
        expect_twins(outcome, /*any_block=*/true);
        const Outcome cpu = outcome(Twin::kCpu);
        std::vector<int64_t> unmoved(3 * rungs);
        std::iota(unmoved.begin(), unmoved.end(), 0);
        EXPECT_NE(cpu.chain, unmoved);
      }
    }
  }
}

}  // namespace
}  // namespace isinglass
