// See philox_cpu.h. AVX-512 multiplies 32-bit numbers to 64-bit ones, eight an instruction: a
// counter's words are the lower halves of 64-bit lanes, whose upper halves nobody reads.
#include "kernels/random/fast/philox_cpu.h"

#include <cstring>

#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {
namespace {

// What all counters of a call share.
struct Common {
  uint64_t seed;
  uint32_t step, purpose, first;
};

#ifdef ISINGLASS_AVX512
constexpr int kLanes = 8, kVectors = 4;  // vectors that wait for each other's products

struct Counters {
  __m512i c0, c1, c2, c3;
};

ISINGLASS_AVX512 inline void take_round(Counters& c, __m512i key0, __m512i key1) {
  constexpr int kXor = 0x96;  // of three
  const __m512i product0 = _mm512_mul_epu32(_mm512_set1_epi64(kPhiloxMultiplier0), c.c0);
  const __m512i product1 = _mm512_mul_epu32(_mm512_set1_epi64(kPhiloxMultiplier1), c.c2);
  c.c0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product1, 32), c.c1, key0, kXor);
  c.c1 = product1;
  c.c2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(product0, 32), c.c3, key1, kXor);
  c.c3 = product0;
}

ISINGLASS_AVX512 inline __m512i load_lanes(const uint32_t* from) {
  return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

ISINGLASS_AVX512 inline void store_lanes(__m512i lanes, uint32_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi64_epi32(lanes));
}

template <int vectors>
ISINGLASS_AVX512 inline void fill_vectors(const Common& common, int count, const uint32_t* chain,
                                          const uint32_t* position, uint32_t* word) {
  Counters c[vectors];
  for (int v = 0; v < vectors; ++v) {
    c[v] = {load_lanes(chain + v * kLanes), _mm512_set1_epi64(common.step),
            _mm512_set1_epi64(common.purpose),
            _mm512_add_epi64(load_lanes(position + v * kLanes), _mm512_set1_epi64(common.first))};
  }
  uint32_t key0 = static_cast<uint32_t>(common.seed);
  uint32_t key1 = static_cast<uint32_t>(common.seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    for (int v = 0; v < vectors; ++v) {
      take_round(c[v], _mm512_set1_epi64(key0), _mm512_set1_epi64(key1));
    }
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  for (int v = 0; v < vectors; ++v) {
    uint32_t* to = word + v * kLanes;
    store_lanes(c[v].c0, to);
    store_lanes(c[v].c1, to + count);
    store_lanes(c[v].c2, to + 2 * count);
    store_lanes(c[v].c3, to + 3 * count);
  }
}

ISINGLASS_AVX512 void fill_words(const Common& common, int count, const uint32_t* chain,
                                 const uint32_t* position, uint32_t* word) {
  int i = 0;
  for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
    fill_vectors<kVectors>(common, count, chain + i, position + i, word + i);
  }
  for (; i < count; i += kLanes) {
    fill_vectors<1>(common, count, chain + i, position + i, word + i);
  }
}
#endif

}  // namespace

void philox_words(uint64_t seed, uint32_t step, Purpose purpose, int count, const uint32_t* chain,
                  const uint32_t* position, uint32_t first, uint32_t* word) {
  const Common common{seed, step, static_cast<uint32_t>(purpose), first};
#ifdef ISINGLASS_AVX512
  if (has_avx512()) return fill_words(common, count, chain, position, word);
#endif
  for (int i = 0; i < count; ++i) {
    const Philox4x32 r = philox4x32(seed, chain[i], step, common.purpose, first + position[i]);
    for (int k = 0; k < 4; ++k) word[k * count + i] = r.word[k];
  }
}

void site_words(const Draws& draws, Purpose purpose, uint32_t first, uint32_t* word) {
  constexpr int kCalls = kWordTile / 4, kBlockCalls = 8;  // of 32 sites
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
