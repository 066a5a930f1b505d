// Sixteen chains at a time on a graph with a neighbourhood table (neighbourhood_table.h), a lane of
// a vector each, in AVX-512 (CPU). States lie site by site as bytes, [D + 1, 16], so that a site's
// values in all chains are one vector; the last row is the neighbour that sites lack.
#pragma once

#include "kernels/base/vectors_cpu.h"

#ifdef ISINGLASS_AVX512
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <cstdint>

#include "kernels/base/blocks.h"
#include "kernels/lattice/fast/neighbourhood_table.h"
#include "kernels/random/fast/philox_cpu.h"

namespace isinglass::cpu {

constexpr int kChains16 = 16, kHalfLanes = kChains16 / 2;

// A float64 of every chain.
struct DoubleLanes {
  __m512d half[2] = {};
};

// Of 32 sites or ranks a number of every chain, [32, 16].
template <class T>
struct BlockOf {
  alignas(64) T number[kBlockSites * kChains16];

  T* row(int64_t i) { return number + i * kChains16; }
  const T* row(int64_t i) const { return number + i * kChains16; }
};

// A site's values in x [D + 1, 16].
ISINGLASS_AVX512 inline __m128i values_at(const uint8_t* x, int64_t site) {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(x + site * kChains16));
}

ISINGLASS_AVX512 inline void set_values(uint8_t* x, int64_t site, __m128i values) {
  _mm_store_si128(reinterpret_cast<__m128i*>(x + site * kChains16), values);
}

// 16·`upper` + the neighbourhood of a site, bytes.
ISINGLASS_AVX512 inline __m128i neighbourhood_at(const NeighbourhoodTable& neighbourhoods,
                                                 const uint8_t* x, int64_t site, __m128i upper) {
  const int32_t* near = neighbourhoods.neighbour + site * kTableNeighbours;
  __m128i bits = upper;
  for (int n = kTableNeighbours; n-- > 0;) {
    bits = _mm_add_epi8(_mm_add_epi8(bits, bits), values_at(x, near[n]));
  }
  return bits;
}

// A site's answer [16] in every chain, by neighbourhood bytes of which the lowest four bits count.
ISINGLASS_AVX512 inline DoubleLanes look_up(const double* answers, __m128i neighbourhood) {
  const __m512d low = _mm512_loadu_pd(answers), high = _mm512_loadu_pd(answers + kHalfLanes);
  const __m512i index[2] = {_mm512_cvtepu8_epi64(neighbourhood),
                            _mm512_cvtepu8_epi64(_mm_unpackhi_epi64(neighbourhood, neighbourhood))};
  return {
      {_mm512_permutex2var_pd(low, index[0], high), _mm512_permutex2var_pd(low, index[1], high)}};
}

// sum ± number where the chain's bit is in `plus`, or in `minus`
ISINGLASS_AVX512 inline void add(const DoubleLanes& number, __mmask16 plus, __mmask16 minus,
                                 DoubleLanes& sum) {
  for (int h = 0; h < 2; ++h) {
    const auto more = static_cast<__mmask8>(plus >> h * kHalfLanes);
    const auto less = static_cast<__mmask8>(minus >> h * kHalfLanes);
    sum.half[h] = _mm512_mask_add_pd(sum.half[h], more, sum.half[h], number.half[h]);
    sum.half[h] = _mm512_mask_sub_pd(sum.half[h], less, sum.half[h], number.half[h]);
  }
}

ISINGLASS_AVX512 inline void store(const DoubleLanes& lanes, double* to) {
  for (int h = 0; h < 2; ++h) _mm512_storeu_pd(to + h * kHalfLanes, lanes.half[h]);
}

// site_word() of blocks of 32 sites or ranks.
class BlockNumbers {
 public:
  // draws [16]
  BlockNumbers(const Draws* draws, Purpose purpose) : draws_(*draws), purpose_(purpose) {
    for (int i = 0; i < kCount; ++i) {
      chain_[i] = draws[i % kChains16].chain;
      position_[i] = static_cast<uint32_t>(i / kChains16);
    }
  }
  void fill(int64_t block, BlockOf<uint32_t>& words) const {
    philox_words(draws_.seed, draws_.step, purpose_, kCount, chain_, position_,
                 static_cast<uint32_t>(block * kCalls), words.number);
  }

 private:
  static constexpr int kCalls = kBlockSites / 4, kCount = kCalls * kChains16;

  Draws draws_;
  Purpose purpose_;
  uint32_t chain_[kCount], position_[kCount];
};

// 16 rows of 16 bytes become its columns.
ISINGLASS_AVX512 inline void transpose(__m128i* row) {
  for (int round = 0; round < 4; ++round) {
    __m128i mixed[kChains16];
    for (int i = 0; i < kHalfLanes; ++i) {
      mixed[2 * i] = _mm_unpacklo_epi8(row[i], row[i + kHalfLanes]);
      mixed[2 * i + 1] = _mm_unpackhi_epi8(row[i], row[i + kHalfLanes]);
    }
    for (int i = 0; i < kChains16; ++i) row[i] = mixed[i];
  }
}

// `count` bytes of a row, at most 16.
ISINGLASS_AVX512 inline __mmask16 first_bytes(int64_t count) {
  return static_cast<__mmask16>(count < kChains16 ? (1 << count) - 1 : 0xffff);
}

// The states of sixteen chains, [D] each, as lanes.
ISINGLASS_AVX512 inline void fill_lanes(const uint8_t* const* state, int64_t sites,
                                        uint8_t* lanes) {
  for (int64_t first = 0; first < sites; first += kChains16) {
    const __mmask16 inside = first_bytes(sites - first);
    __m128i row[kChains16];
    for (int64_t l = 0; l < kChains16; ++l) {
      row[l] = _mm_maskz_loadu_epi8(inside, state[l] + first);
    }
    transpose(row);
    for (int64_t i = first; i < sites && i < first + kChains16; ++i) {
      set_values(lanes, i, row[i - first]);
    }
  }
  set_values(lanes, sites, _mm_setzero_si128());
}

// The same backwards, of the chains whose bits are taken.
ISINGLASS_AVX512 inline void store_lanes(const uint8_t* lanes, __mmask16 taken, int64_t sites,
                                         uint8_t* const* state) {
  for (int64_t first = 0; first < sites; first += kChains16) {
    const __mmask16 inside = first_bytes(sites - first);
    __m128i row[kChains16] = {};
    for (int64_t i = first; i < sites && i < first + kChains16; ++i) {
      row[i - first] = values_at(lanes, i);
    }
    transpose(row);
    for (int64_t l = 0; l < kChains16; ++l) {
      if (taken >> l & 1) _mm_mask_storeu_epi8(state[l] + first, inside, row[l]);
    }
  }
}

// Groups of sixteen chains that a thread works on together, a block of sites after the other: what
// the first one has looked up is in the nearest cache for the others.
constexpr int64_t kLaneGroups = 4;

inline int64_t most_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

// Calls work(first, end) for the groups of so many chains, at most kLaneGroups of them at a time.
template <class F>
void for_lane_groups(int64_t chains, int64_t steps, int64_t sites, F work) {
  const int64_t groups = (chains + kChains16 - 1) / kChains16;
  const int64_t threads = std::min(groups, most_threads());
  const int64_t parts = std::max(threads, (groups + kLaneGroups - 1) / kLaneGroups);
#pragma omp parallel for schedule(static) if (parallel_pays(steps * chains * sites))
  for (int64_t part = 0; part < parts; ++part) {
    work(groups * part / parts, groups * (part + 1) / parts);
  }
}

// A group's chains, 1 ≤ count ≤ 16, with their draws and states; those beyond count repeat the last.
struct LaneGroup {
  int64_t count;
  int64_t chain[kChains16];
  Draws draws[kChains16];
  uint8_t* state[kChains16];

  // The chains of places 16·number … of `order`, null: as they are numbered; x [B, D]. The step that
  // is `steps_ahead` steps after the present one.
  LaneGroup(int64_t number, int64_t chains, const int64_t* order, const int64_t* rng,
            const int64_t* chain_ids, int64_t steps_ahead, uint8_t* x, int64_t sites)
      : count(std::min<int64_t>(kChains16, chains - number * kChains16)) {
    for (int64_t l = 0; l < kChains16; ++l) {
      const int64_t place = number * kChains16 + std::min(l, count - 1);
      chain[l] = order ? order[place] : place;
      draws[l] = step_draws(rng, chain_ids[chain[l]], steps_ahead);
      state[l] = x + chain[l] * sites;
    }
  }
};

// This thread's lanes of so many states, kept between calls.
uint8_t* lane_states(int64_t states, int64_t sites);

}  // namespace isinglass::cpu
#endif
