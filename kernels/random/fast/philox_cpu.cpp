// Implements Philox for many counters at once, in vectors of Highway (CPU). Highway compiles the
// code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE for each instruction set and chooses
// one when the program starts. The vector instructions multiply 32-bit numbers to 64-bit products.
// Therefore each counter word is in the lower half of a 64-bit lane, and the upper half is ignored.
#include "kernels/random/fast/philox_cpu.h"

#include <hwy/base.h>

#include <cstring>

#include "kernels/base/vectors_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/random/fast/philox_cpu.cpp"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isinglass::cpu {
namespace HWY_NAMESPACE {

#if ISINGLASS_HAS_VECTORS
namespace hn = hwy::HWY_NAMESPACE;
using Wide = hn::ScalableTag<uint64_t>;
using Narrow = hn::Repartition<uint32_t, Wide>;
using Half = hn::Rebind<uint32_t, Wide>;
using Lanes = hn::Vec<Wide>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Wide()));
static_assert(8 % kLanes == 0);

// Holds what all counters of a call share.
struct Common {
  uint64_t seed;
  uint32_t step, purpose, first;
};

HWY_INLINE Lanes same(uint32_t number) {
  return hn::Set(Wide(), number);
}

// Returns the 64-bit products of b with the lower 32 bits of every lane.
HWY_INLINE Lanes product(Lanes a, uint32_t b) {
  return hn::MulEven(hn::BitCast(Narrow(), a), hn::Set(Narrow(), b));
}

HWY_INLINE void take_round(Lanes* c, Lanes key0, Lanes key1) {
  const Lanes product0 = product(c[0], kPhiloxMultiplier0);
  const Lanes product1 = product(c[2], kPhiloxMultiplier1);
  c[0] = hn::Xor3(hn::ShiftRight<32>(product1), c[1], key0);
  c[1] = product1;
  c[2] = hn::Xor3(hn::ShiftRight<32>(product0), c[3], key1);
  c[3] = product0;
}

HWY_INLINE Lanes load_lanes(const uint32_t* from) {
  return hn::PromoteTo(Wide(), hn::LoadU(Half(), from));
}

HWY_INLINE void store_lanes(Lanes lanes, uint32_t* to) {
  hn::StoreU(hn::TruncateTo(Half(), lanes), Half(), to);
}

// Computes `vectors` vectors of counters together, so that their multiplications overlap.
template <int vectors>
HWY_INLINE void fill_vectors(const Common& common, int count, const uint32_t* chain,
                             const uint32_t* position, uint32_t* word) {
  // This is an array because a struct's implicit constructor would not be compiled for the
  // instruction set.
  Lanes c[vectors][4];
  for (int v = 0; v < vectors; ++v) {
    c[v][0] = load_lanes(chain + v * kLanes);
    c[v][1] = same(common.step);
    c[v][2] = same(common.purpose);
    c[v][3] = hn::Add(load_lanes(position + v * kLanes), same(common.first));
  }
  uint32_t key0 = static_cast<uint32_t>(common.seed);
  uint32_t key1 = static_cast<uint32_t>(common.seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    for (int v = 0; v < vectors; ++v) take_round(c[v], same(key0), same(key1));
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  for (int v = 0; v < vectors; ++v) {
    for (int k = 0; k < 4; ++k) store_lanes(c[v][k], word + k * count + v * kLanes);
  }
}

void fill_words(uint64_t seed, uint32_t step, uint32_t purpose, int count, const uint32_t* chain,
                const uint32_t* position, uint32_t first, uint32_t* word) {
  constexpr int kVectors = 4;
  const Common common{seed, step, purpose, first};
  int i = 0;
  for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
    fill_vectors<kVectors>(common, count, chain + i, position + i, word + i);
  }
  for (; i < count; i += kLanes) {
    fill_vectors<1>(common, count, chain + i, position + i, word + i);
  }
}
#else
void fill_words(uint64_t seed, uint32_t step, uint32_t purpose, int count, const uint32_t* chain,
                const uint32_t* position, uint32_t first, uint32_t* word) {
  for (int i = 0; i < count; ++i) {
    const Philox4x32 r = philox4x32(seed, chain[i], step, purpose, first + position[i]);
    for (int k = 0; k < 4; ++k) word[k * count + i] = r.word[k];
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace isinglass::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isinglass::cpu {

HWY_EXPORT(fill_words);

void philox_words(uint64_t seed, uint32_t step, Purpose purpose, int count, const uint32_t* chain,
                  const uint32_t* position, uint32_t first, uint32_t* word) {
  HWY_DYNAMIC_DISPATCH(fill_words)
  (seed, step, static_cast<uint32_t>(purpose), count, chain, position, first, word);
}

void site_words(const PhiloxStream& draws, Purpose purpose, uint32_t first, uint32_t* word) {
  constexpr int kCalls = kWordTile / 4, kBlockCalls = 8;  // Eight calls serve 32 sites.
  uint32_t chain[kCalls], position[kCalls], of_call[4][kCalls];
  for (int i = 0; i < kCalls; ++i) {
    chain[i] = draws.chain;
    position[i] = static_cast<uint32_t>(i);
  }
  philox_words(draws.seed, draws.step, purpose, kCalls, chain, position, first / 4, of_call[0]);
  for (int block = 0; block < kCalls; block += kBlockCalls) {
    for (int k = 0; k < 4; ++k, word += kBlockCalls) {
      std::memcpy(word, of_call[k] + block, kBlockCalls * sizeof *word);
    }
  }
}

}  // namespace isinglass::cpu
#endif
