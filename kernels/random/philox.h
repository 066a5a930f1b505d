// Implements the counter-based random numbers of Philox4x32-10 (Salmon, Moraes, Dror & Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//
// The key is the 64-bit seed. The four counter words are chain, step, purpose and position. The
// numbers that chain c uses at step t therefore depend on nothing else: not on batch size, device,
// thread count or number of ranks. This file lists every purpose of the project; no two purposes
// share a counter.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

enum class Purpose : uint32_t {
  // These purposes are used inside a step. The comments say what the counter words chain, step and
  // position stand for, where it is not the chain, the step and the site.
  kAccept = 0,
  kLength,  // Draws the path length L: position 0 rounds 2R − 1, position 1 draws L.
  kSite,    // position = index along the path
  kValue,   // position = index along the path, or site
  kNoise,   // Draws normal numbers; position = Philox call (normal.h).
  kSiteValue,
  kSiteValueRest,  // It is the second half of site_uniform() for values.
  kHidden,
  kHiddenRest,  // It is the same for hidden units.
  kSwap,        // chain = ensemble of rungs, position = pair of rungs
  kReference,   // Makes exact draws at rung 0; chain = ensemble.
  // These purposes are used outside a step.
  kInitialState = 64,  // position = site
  kBinarise,           // chain = image of the data set, step = iteration, position = pixel
  kDataOrder,          // step = epoch, position = index of the shuffle
  kSlots,              // step = iteration, position = index of the draw
  kReinitialise,       // chain = slot, step = iteration; position 0 decides whether to reinitialise
  kReinitialState,     // chain = slot, step = iteration, position = site
  kBootstrap,          // chain = resample, position = index
  kStrokes,            // chain = image, position = index of the number
  kSplit,              // position = index of the shuffle
  kDataInit,           // chain = a chain that starts at a training image
  kScoreNoise,         // chain = index in the batch, step = iteration, position = site
  kInstance,           // chain = tensor of a standard instance, position = index
  kPoints,             // chain = point of a built-in data set, position = index of the number
  kResample,           // chain = the first one of a group of annealed chains
};

struct Philox4x32 {
  uint32_t word[4];

  // Returns word[k] for a k known only at run time. Selecting the word avoids indexing the array,
  // which would force it out of registers into a GPU's local memory.
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

// Returns 53 random bits as a double in [0, 1).
ISINGLASS_HD inline double uniform_from_words(uint32_t high, uint32_t low) {
  const uint64_t bits = (static_cast<uint64_t>(high) << 21) ^ (low >> 11);
  return static_cast<double>(bits) * (1.0 / 9007199254740992.0);
}

// Returns floor(u·n), an integer in [0, n), for u in [0, 1).
ISINGLASS_HD inline uint32_t below_from_uniform(uint32_t n, double u) {
  const uint32_t draw = static_cast<uint32_t>(u * n);
  return draw < n ? draw : n - 1;
}

// One Philox call serves `each` sites of a block of 8·each sites; eight calls serve the block. The
// sites of a call are 8 apart, so that eight neighbouring lanes of a GPU, each with one call, read
// and write neighbouring sites at once.
constexpr int kBlockCalls = 8;

template <int each>
struct CallOf {
  int64_t number;
  static constexpr int kBlockSites = each * kBlockCalls;

  ISINGLASS_HD int64_t site(int which) const {
    return number / kBlockCalls * kBlockSites + number % kBlockCalls + kBlockCalls * which;
  }
  // Returns the number of calls that cover `sites` sites. It counts whole blocks, so that a call's
  // last sites may not exist.
  ISINGLASS_HD static int64_t count(int64_t sites) {
    return (sites + kBlockSites - 1) / kBlockSites * kBlockCalls;
  }
};

// Defines the Philox call that gives one 32-bit word for each of the sites i, i + 8, i + 16 and i +
// 24 of every 32. A warp, with one call per lane, serves 128 sites.
constexpr int kCallSites = 4;
using SiteCall = CallOf<kCallSites>;

// Identifies the random numbers of one chain in one step. It is passed by value, in place of a
// generator object.
struct PhiloxStream {
  uint64_t seed;
  uint32_t chain;
  uint32_t step;

  // Returns u in [0, 1).
  ISINGLASS_HD double uniform(Purpose purpose, uint32_t position = 0) const {
    const Philox4x32 r = philox4x32(seed, chain, step, static_cast<uint32_t>(purpose), position);
    return uniform_from_words(r.word[0], r.word[1]);
  }

  // Returns the first 32 bits of site_uniform() for the four sites of a SiteCall. They decide all
  // but one comparison in 2^32.
  ISINGLASS_HD Philox4x32 call_words(Purpose purpose, uint32_t call) const {
    return philox4x32(seed, chain, step, static_cast<uint32_t>(purpose), call);
  }
  // Returns the first 32 bits of site_uniform() for one site.
  ISINGLASS_HD uint32_t site_word(Purpose purpose, uint32_t site) const {
    return call_words(purpose, site / 32 * 8 + site % 8).word_of(site % 32 / 8);
  }
  // Returns u in [0, 1) for a site, in a step that draws a number at every site.
  ISINGLASS_HD double site_uniform(Purpose first, Purpose rest, uint32_t site) const {
    return uniform_from_words(site_word(first, site), site_word(rest, site));
  }

  // Returns an integer in [0, n), n < 2^32, with a bias below n·2^−53.
  ISINGLASS_HD uint32_t below(uint32_t n, Purpose purpose, uint32_t position = 0) const {
    return below_from_uniform(n, uniform(purpose, position));
  }
};

// Returns the random numbers of one chain in the step that is `steps_ahead` after the present one.
// rng = {seed, step number} is in device memory.
ISINGLASS_HD inline PhiloxStream step_draws(const int64_t* rng, int64_t chain_id,
                                            int64_t steps_ahead = 0) {
  return {static_cast<uint64_t>(rng[0]), static_cast<uint32_t>(chain_id),
          static_cast<uint32_t>(rng[1] + steps_ahead)};
}

}  // namespace isinglass
