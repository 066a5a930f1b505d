// Implements lattice_jump.h on the CPU, for sixteen chains at a time in Highway's vectors.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "kernels/base/blocks.h"
#include "kernels/base/log_product.h"
#include "kernels/base/threads_cpu.h"
#include "kernels/base/vectors_cpu.h"
#include "kernels/jump/binary_rows.h"
#include "kernels/jump/fast/binary_rows_cpu.h"
#include "kernels/jump/fast/lattice_jump.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/jump/fast/lattice_jump_cpu.cpp"
#include <hwy/foreach_target.h>
// This file must follow foreach_target.h.
#include "kernels/lattice/fast/sixteen_lanes_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace isinglass::cpu {
namespace HWY_NAMESPACE {
namespace {

#if ISINGLASS_HAS_VECTORS

// Holds the states of one group of sixteen chains.
struct JumpLanes {
  const NeighbourhoodTable& neighbourhoods;
  const int32_t* threshold;
  uint8_t *x, *y;
  int32_t hops[kChains16] = {};
  double energy[kChains16] = {};  // It is the energy of y without the constant.
};

// Returns flip_threshold() of a site, given its values and neighbourhoods.
HWY_INLINE hn::Vec<Signed> threshold_of(const JumpLanes& lanes, int64_t site, hn::Vec<Signed> value,
                                        hn::Vec<Signed> neighbourhood) {
  constexpr int kBits = kTableNeighbours;
  return look_up<kSiteThresholds>(Signed(), lanes.threshold + site * kSiteThresholds,
                                  hn::Or(hn::ShiftLeft<kBits>(value), neighbourhood));
}

// Returns outcome_count().
HWY_INLINE hn::Vec<Signed> weight_of(hn::Vec<Signed> threshold, hn::Mask<Signed> flipped) {
  const auto whole = hn::Set(Signed(), static_cast<int32_t>(kFlipWhole));
  return hn::IfThenElse(flipped, threshold, hn::Sub(whole, threshold));
}

HWY_INLINE hn::Vec<Doubles> weights_of(const int32_t* weight, int part) {
  using Weights = hn::Rebind<int32_t, Doubles>;
  return hn::PromoteTo(Doubles(), hn::Load(Weights(), weight + part * kDoubleLanes));
}

// Writes the product of a block's outcome weights in every chain, in the order of fold(). A missing
// site has weight 2^31.
void multiply(BlockOf<int32_t>& weight, int64_t sites, double* product) {
  constexpr int kPairs = kBlockSites / 2;
  std::fill(weight.row(sites), weight.number + kBlockSites * kChains16, 1);
  const auto lacking = hn::Set(
      Doubles(),
      sites == kBlockSites ? 1.0 : std::ldexp(1.0, static_cast<int>(31 * (kBlockSites - sites))));
  for (int part = 0; part < kDoubleParts; ++part) {
    hn::Vec<Doubles> p[kPairs];
    for (int i = 0; i < kPairs; ++i) {
      p[i] = hn::Mul(weights_of(weight.row(i), part), weights_of(weight.row(i + kPairs), part));
    }
    for (int i = 0; i < 8; ++i) p[i] = hn::Mul(p[i], p[i + 8]);
    for (int i = 0; i < 4; ++i) p[i] = hn::Mul(p[i], p[i + 4]);
    const auto of_block = hn::Mul(hn::Mul(p[0], p[2]), hn::Mul(p[1], p[3]));
    hn::StoreU(hn::Mul(of_block, lacking), Doubles(), product + part * kDoubleLanes);
  }
}

// Draws y at the block of sites first … first + sites − 1, and writes the product of their outcome
// weights.
void draw_block(JumpLanes& lanes, const BlockOf<uint32_t>& words, int64_t first, int64_t sites,
                double* product) {
  BlockOf<int32_t> weight;
  const auto one = hn::Set(Signed(), 1);
  hn::Vec<Signed> hops[kWordParts];
  for (auto& sum : hops) sum = hn::Zero(Signed());
  for (int64_t i = 0; i < sites; ++i) {
    const int64_t site = first + i;
    alignas(16) uint8_t near[kChains16];
    find_neighbourhoods(lanes.neighbourhoods, lanes.x, site, near);
    for (int p = 0; p < kWordParts; ++p) {
      const auto own = part_of(lanes.x + site * kChains16, p);
      const auto threshold = threshold_of(lanes, site, own, part_of(near, p));
      const auto word = hn::Load(Words(), words.row(i) + p * kWordLanes);
      const auto flipped = hn::Lt(hn::BitCast(Signed(), hn::ShiftRight<1>(word)), threshold);
      hn::Store(weight_of(threshold, flipped), Signed(), weight.row(i) + p * kWordLanes);
      const auto flip = hn::IfThenElseZero(flipped, one);
      hops[p] = hn::Add(hops[p], flip);
      set_part(lanes.y + site * kChains16, p, hn::Ne(own, flip));
    }
  }
  for (int p = 0; p < kWordParts; ++p) {
    int32_t* at = lanes.hops + p * kWordLanes;
    hn::StoreU(hn::Add(hops[p], hn::LoadU(Signed(), at)), Signed(), at);
  }
  multiply(weight, sites, product);
}

// Writes the product of the outcome weights of the reverse move, and adds the sites' part of U(y).
void score_block(JumpLanes& lanes, int64_t first, int64_t sites, double* product) {
  BlockOf<int32_t> weight;
  const auto one = hn::Set(Signed(), 1);
  hn::Vec<Doubles> energy[kDoubleParts];
  for (auto& sum : energy) sum = hn::Zero(Doubles());
  for (int64_t i = 0; i < sites; ++i) {
    const int64_t site = first + i;
    alignas(16) uint8_t near[kChains16];
    find_neighbourhoods(lanes.neighbourhoods, lanes.y, site, near);
    for (int p = 0; p < kWordParts; ++p) {
      const auto own = part_of(lanes.y + site * kChains16, p), neighbourhood = part_of(near, p);
      const auto threshold = threshold_of(lanes, site, own, neighbourhood);
      const auto flipped = hn::Ne(own, part_of(lanes.x + site * kChains16, p));
      hn::Store(weight_of(threshold, flipped), Signed(), weight.row(i) + p * kWordLanes);
      add_answers(lanes.neighbourhoods.half_flip + site * kNeighbourhoods, neighbourhood,
                  hn::Sub(hn::Add(own, own), one), energy + 2 * p);
    }
  }
  add_to(lanes.energy, energy);
  multiply(weight, sites, product);
}

// Performs one step of a group, one block of sites after the other.
class JumpGroup {
 public:
  JumpGroup(const LatticeJumpStep& step, int64_t t, int64_t number, uint8_t* states)
      : step_(step),
        sites_(step.neighbourhoods.sites),
        chains_(number, step.shape.chains, nullptr, step.rng, step.chain_ids, t, step.x, sites_),
        numbers_(chains_.draws, Purpose::kSiteValue),
        lanes_{step.neighbourhoods, step.threshold, states, states + lane_bytes(sites_)} {
    fill_lanes(chains_.state, sites_, lanes_.x);
    hn::Store(hn::Zero(Bytes()), Bytes(), lanes_.y + sites_ * kChains16);
  }

  void draw(int64_t block) {
    BlockOf<uint32_t> words;
    double product[kChains16];
    numbers_.fill(block, words);
    draw_block(lanes_, words, block * kBlockSites, size(block), product);
    multiply_in(product, forward_);
  }

  void score(int64_t block) {
    double product[kChains16];
    score_block(lanes_, block * kBlockSites, size(block), product);
    multiply_in(product, backward_);
  }

  // Performs the Metropolis test of every chain.
  void decide() {
    unsigned taken = 0;
    for (int64_t l = 0; l < chains_.count; ++l) {
      const int64_t chain = chains_.chain[l];
      const double proposed = step_.neighbourhoods.constant + lanes_.energy[l];
      const double forward = forward_[l].log(), backward = backward_[l].log();
      double* energy = step_.energy + chain;
      const ProposalScores scores{energy, &proposed, &forward, &backward, step_.unadjusted};
      const Verdict verdict = metropolis(scores, 0, chains_.draws[l].uniform(Purpose::kAccept));
      count_verdict(step_.counts, chain, verdict, verdict.accept ? lanes_.hops[l] : 0);
      if (!verdict.accept) continue;
      *energy = proposed;
      taken |= 1u << l;
    }
    store_lanes(lanes_.y, taken, sites_, chains_.state);
  }

 private:
  int64_t size(int64_t block) const {
    return std::min<int64_t>(kBlockSites, sites_ - block * kBlockSites);
  }
  static void multiply_in(const double* product, LogProduct* log_q) {
    for (int l = 0; l < kChains16; ++l) log_q[l].multiply(block_probability(product[l]));
  }

  const LatticeJumpStep& step_;
  int64_t sites_;
  LaneGroup chains_;
  BlockNumbers numbers_;
  JumpLanes lanes_;
  LogProduct forward_[kChains16], backward_[kChains16];
};

// Performs step t of the groups first … end − 1.
void jump_groups(const LatticeJumpStep& step, int64_t t, int64_t first, int64_t end) {
  const int64_t sites = step.neighbourhoods.sites, state = lane_bytes(sites);
  uint8_t* states = lane_states(2 * kLaneGroups, sites);
  std::optional<JumpGroup> groups[kLaneGroups];
  for (int64_t g = first; g < end; ++g) {
    groups[g - first].emplace(step, t, g, states + 2 * (g - first) * state);
  }
  for (int64_t block = 0; block < site_blocks(sites); ++block) {
    for (int64_t g = 0; g < end - first; ++g) groups[g]->draw(block);
  }
  for (int64_t block = 0; block < site_blocks(sites); ++block) {
    for (int64_t g = 0; g < end - first; ++g) groups[g]->score(block);
  }
  for (int64_t g = 0; g < end - first; ++g) groups[g]->decide();
}

// Without vector instructions no lattice has a neighbourhood table, and this is never called.
#else
void jump_groups(const LatticeJumpStep&, int64_t, int64_t, int64_t) {
  std::abort();
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace isinglass::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isinglass::cpu {

void find_thresholds(const JumpShape& shape, const NeighbourhoodTable& neighbourhoods,
                     const double* scale, int32_t* threshold, Stream) {
  const BinaryJumpParameters jump(shape, *scale);
  const int64_t all = neighbourhoods.sites * kSiteThresholds;
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, all);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t first = 0; first < all; first += kFlipTile) {
    const int64_t count = std::min<int64_t>(kFlipTile, all - first);
    float d[kFlipTile] = {};
    int32_t found[kFlipTile];
    for (int64_t i = 0; i < count; ++i) d[i] = tabulated_difference(neighbourhoods, first + i);
    flip_thresholds(jump, d, found);
    std::copy_n(found, count, threshold + first);
  }
}

HWY_EXPORT(jump_groups);

void lattice_jump_step(const LatticeJumpStep& step, Stream) {
  for (int64_t t = 0; t < step.steps; ++t) {
    for_lane_groups(step.shape.chains, 1, step.shape.sites, 2 * kLaneGroups,
                    [&](int64_t first, int64_t end) {
                      HWY_DYNAMIC_DISPATCH(jump_groups)(step, t, first, end);
                    });
  }
}

}  // namespace isinglass::cpu
#endif
