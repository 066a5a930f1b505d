// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011).
//
// Key = the 64-bit seed. Counter words = chain, step, purpose, position. So the numbers that chain
// c uses at step t depend on nothing else: not on batch size, device, thread count or number of
// ranks. Every purpose of the project is listed here; two purposes never share a counter.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

enum class Purpose : uint32_t {
  // inside a step
  kAccept = 0,
  kLength,  // path length L; position 0: rounding of 2R − 1, position 1: L
  kSite,    // position = index along the path
  kValue,   // position = index along the path, or site
  kNoise,   // standard normal numbers; position = call (normal.h)
  kSiteValue,
  kSiteValueRest,  // site_uniform() of values
  kHidden,
  kHiddenRest,  // site_uniform() of hidden units
  kSwap,        // chain = ensemble of rungs, position = pair of rungs
  kReference,   // chain = ensemble: an exact draw at its rung 0, position = site
  // outside a step
  kInitialState = 64,  // position = site
  kBinarise,           // chain = image of the data set, step = iteration, position = pixel
  kDataOrder,          // step = epoch, position = index of the shuffle
  kSlots,              // step = iteration, position = index of the draw
  kReinitialise,       // chain = slot, step = iteration; position 0: whether
  kReinitialState,     // chain = slot, step = iteration, position = site
  kBootstrap,          // chain = resample, position = index
  kStrokes,            // chain = image, position = index of the number
  kSplit,              // position = index of the shuffle
  kDataInit,           // chain = chain that starts at a training image
  kScoreNoise,         // chain = place in the batch, step = iteration, position = site
  kInstance,           // chain = tensor of a standard instance, position = index
  kPoints,             // chain = point of a built-in data set, position = index of the number
};

struct Philox4x32 {
  uint32_t word[4];

  // word[k], chosen: an array that is indexed lies in a GPU's memory, not in registers.
  ISINGLASS_HD uint32_t word_of(uint32_t k) const {
    const uint32_t even = k < 2 ? word[0] : word[2], odd = k < 2 ? word[1] : word[3];
    return k % 2 ? odd : even;
  }
};

constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53u, kPhiloxMultiplier1 = 0xCD9E8D57u;
constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9u, kPhiloxWeyl1 = 0xBB67AE85u;
constexpr int kPhiloxRounds = 10;

ISINGLASS_HD inline Philox4x32 philox4x32(uint64_t seed, uint32_t chain, uint32_t step,
                                          uint32_t purpose, uint32_t position) {
  uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  uint32_t c0 = chain, c1 = step, c2 = purpose, c3 = position;
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t product0 = static_cast<uint64_t>(kPhiloxMultiplier0) * c0;
    const uint64_t product1 = static_cast<uint64_t>(kPhiloxMultiplier1) * c2;
    c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c1 = static_cast<uint32_t>(product1);
    c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c3 = static_cast<uint32_t>(product0);
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

// 53 random bits as a double in [0, 1).
ISINGLASS_HD inline double uniform_from_words(uint32_t high, uint32_t low) {
  const uint64_t bits = (static_cast<uint64_t>(high) << 21) ^ (low >> 11);
  return static_cast<double>(bits) * (1.0 / 9007199254740992.0);
}

// floor(u·n), an integer in [0, n), of u in [0, 1)
ISINGLASS_HD inline uint32_t below_from_uniform(uint32_t n, double u) {
  const uint32_t draw = static_cast<uint32_t>(u * n);
  return draw < n ? draw : n - 1;
}

// The sites whose numbers one call gives, `each` of them: eight calls serve a block of sites, and so
// do eight lanes of a GPU, which read and write neighbours at once.
constexpr int kBlockCalls = 8;

template <int each>
struct CallOf {
  int64_t number;
  static constexpr int kBlockSites = each * kBlockCalls;

  ISINGLASS_HD int64_t site(int which) const {
    return number / kBlockCalls * kBlockSites + number % kBlockCalls + kBlockCalls * which;
  }
  // In whole blocks; a call's last sites may not be there.
  ISINGLASS_HD static int64_t count(int64_t sites) {
    return (sites + kBlockSites - 1) / kBlockSites * kBlockCalls;
  }
};

// A word a site: i, i + 8, i + 16 and i + 24 of every 32, so that a warp owns 128 sites.
constexpr int kCallSites = 4;
using SiteCall = CallOf<kCallSites>;

// Where a chain's numbers come from: one value, passed along instead of a generator object.
struct Draws {
  uint64_t seed;
  uint32_t chain;
  uint32_t step;

  // u in [0, 1)
  ISINGLASS_HD double uniform(Purpose purpose, uint32_t position = 0) const {
    const Philox4x32 r = philox4x32(seed, chain, step, static_cast<uint32_t>(purpose), position);
    return uniform_from_words(r.word[0], r.word[1]);
  }

  // The first 32 bits of site_uniform() of the sites of a call (SiteCall), which decide but for one
  // comparison in 2^32.
  ISINGLASS_HD Philox4x32 call_words(Purpose purpose, uint32_t call) const {
    return philox4x32(seed, chain, step, static_cast<uint32_t>(purpose), call);
  }
  // Those of one site.
  ISINGLASS_HD uint32_t site_word(Purpose purpose, uint32_t site) const {
    return call_words(purpose, site / 32 * 8 + site % 8).word_of(site % 32 / 8);
  }
  // u in [0, 1) of a site, in a step that draws at every site.
  ISINGLASS_HD double site_uniform(Purpose first, Purpose rest, uint32_t site) const {
    return uniform_from_words(site_word(first, site), site_word(rest, site));
  }

  // an integer in [0, n), n < 2^32; bias below n·2^−53
  ISINGLASS_HD uint32_t below(uint32_t n, Purpose purpose, uint32_t position = 0) const {
    return below_from_uniform(n, uniform(purpose, position));
  }
};

// The numbers of one chain in one step, `steps_ahead` steps after the present one; rng = {seed,
// step number}, in device memory.
ISINGLASS_HD inline Draws step_draws(const int64_t* rng, int64_t chain_id,
                                     int64_t steps_ahead = 0) {
  return {static_cast<uint64_t>(rng[0]), static_cast<uint32_t>(chain_id),
          static_cast<uint32_t>(rng[1] + steps_ahead)};
}

}  // namespace isinglass
