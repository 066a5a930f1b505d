// Implements operations on lanes of sixteen chains (lane_groups_cpu.h) in Highway's vectors (CPU).
// A source that uses foreach_target.h includes this file once for each instruction set. A chain's
// numbers are added and multiplied in the same order for every vector length, so that all
// instruction sets give the same bits.
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "kernels/base/vectors_cpu.h"
#include "kernels/lattice/fast/lane_groups_cpu.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

// This include guard is reset for each instruction set.
#if defined(ISINGLASS_SIXTEEN_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef ISINGLASS_SIXTEEN_LANES
#undef ISINGLASS_SIXTEEN_LANES
#else
#define ISINGLASS_SIXTEEN_LANES
#endif

#if ISINGLASS_HAS_VECTORS
HWY_BEFORE_NAMESPACE();
namespace isinglass::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// One vector holds a byte of every chain. Vectors of larger numbers hold as many chains as they
// can.
using Bytes = hn::FixedTag<uint8_t, kChains16>;
using Words = hn::CappedTag<uint32_t, kChains16>;
using Signed = hn::RebindToSigned<Words>;
using HalfSigned = hn::Half<Signed>;
using WordBytes = hn::Rebind<uint8_t, Words>;
using Doubles = hn::Repartition<double, Words>;
using DoubleIndices = hn::RebindToSigned<Doubles>;
constexpr int kWordLanes = static_cast<int>(hn::MaxLanes(Words())), kDoubleLanes = kWordLanes / 2;
constexpr int kWordParts = kChains16 / kWordLanes, kDoubleParts = kChains16 / kDoubleLanes;

// values_at() loads a site's values in x [D + 1, 16]; part_of() widens those of one part of the
// chains.
HWY_INLINE hn::Vec<Bytes> values_at(const uint8_t* x, int64_t site) {
  return hn::Load(Bytes(), x + site * kChains16);
}

HWY_INLINE hn::Vec<Signed> part_of(const uint8_t* bytes, int part) {
  return hn::PromoteTo(Signed(), hn::Load(WordBytes(), bytes + part * kWordLanes));
}

// Writes 1 where the mask holds and 0 elsewhere, for one part of the chains. If a vector covers all
// chains, the mask is converted through its bits, which avoids narrowing the words.
HWY_INLINE void set_part(uint8_t* bytes, int part, hn::Mask<Signed> ones) {
  if constexpr (kWordParts == 1) {
    uint8_t bits[8];
    hn::StoreMaskBits(Signed(), ones, bits);
    const auto of_bytes = hn::LoadMaskBits(Bytes(), bits);
    hn::Store(hn::IfThenElseZero(of_bytes, hn::Set(Bytes(), 1)), Bytes(), bytes);
  } else {
    const auto words = hn::IfThenElseZero(hn::RebindMask(Words(), ones), hn::Set(Words(), 1));
    hn::Store(hn::TruncateTo(WordBytes(), words), WordBytes(), bytes + part * kWordLanes);
  }
}

// Writes the neighbourhoods [16] of a site.
HWY_INLINE void find_neighbourhoods(const NeighbourhoodTable& neighbourhoods, const uint8_t* x,
                                    int64_t site, uint8_t* found) {
  const int32_t* near = neighbourhoods.neighbour + site * kTableNeighbours;
  auto bits = values_at(x, near[kTableNeighbours - 1]);
  for (int n = kTableNeighbours - 1; n-- > 0;) {
    bits = hn::Add(hn::Add(bits, bits), values_at(x, near[n]));
  }
  hn::Store(bits, Bytes(), found);
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
// Selects each lane from two vectors, which Highway 1.0 does not support.
HWY_INLINE hn::Vec<Doubles> permute(hn::Vec<Doubles> low, hn::Vec<DoubleIndices> index,
                                    hn::Vec<Doubles> high) {
  return hn::Vec<Doubles>{_mm512_permutex2var_pd(low.raw, index.raw, high.raw)};
}
HWY_INLINE hn::Vec<Signed> permute(hn::Vec<Signed> low, hn::Vec<Signed> index,
                                   hn::Vec<Signed> high) {
  return hn::Vec<Signed>{_mm512_permutex2var_epi32(low.raw, index.raw, high.raw)};
}
#endif

// Returns table[index] from a table of kEntries entries. Tables that fit into a few vectors are
// permuted; larger ones are gathered.
template <int kEntries, class Tag, class Indices>
HWY_INLINE hn::Vec<Tag> look_up(Tag tag, const hn::TFromD<Tag>* table, Indices index) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag())), kHalf = kEntries / 2;
  using IndexTag = hn::RebindToSigned<Tag>;
  if constexpr (kEntries > 4 * kLanes) {
    return hn::GatherIndex(tag, table, index);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  } else if constexpr (kEntries == 2 * kLanes) {
    return permute(hn::LoadU(tag, table), index, hn::LoadU(tag, table + kHalf));
#endif
  } else if constexpr (kEntries > kLanes) {
    const auto bit = hn::Set(IndexTag(), kHalf);
    const auto upper = hn::RebindMask(tag, hn::TestBit(index, bit));
    const auto within = hn::AndNot(bit, index);
    return hn::IfThenElse(upper, look_up<kHalf>(tag, table + kHalf, within),
                          look_up<kHalf>(tag, table, within));
  } else {
    static_assert(kEntries == kLanes);
    return hn::TableLookupLanes(hn::LoadU(tag, table), hn::IndicesFromVec(tag, index));
  }
}

// Adds factor · answers[neighbourhood] to sum. The factors are −1, 0 or 1, so that the products are
// exact and fused multiply-adds give the same bits.
template <class Neighbourhoods, class Factors>
HWY_INLINE void add_answers(const double* answers, Neighbourhoods neighbourhood, Factors factor,
                            hn::Vec<Doubles>& sum) {
  const auto index = hn::PromoteTo(DoubleIndices(), neighbourhood);
  const auto answer = look_up<kNeighbourhoods>(Doubles(), answers, index);
  sum = hn::MulAdd(hn::PromoteTo(Doubles(), factor), answer, sum);
}

// Does the same for one part of the chains, with two vectors of sums.
HWY_INLINE void add_answers(const double* answers, hn::Vec<Signed> neighbourhood,
                            hn::Vec<Signed> factor, hn::Vec<Doubles>* sum) {
  add_answers(answers, hn::LowerHalf(neighbourhood), hn::LowerHalf(factor), sum[0]);
  add_answers(answers, hn::UpperHalf(HalfSigned(), neighbourhood),
              hn::UpperHalf(HalfSigned(), factor), sum[1]);
}

// Adds sum to total [16].
HWY_INLINE void add_to(double* total, const hn::Vec<Doubles>* sum) {
  for (int p = 0; p < kDoubleParts; ++p) {
    double* at = total + p * kDoubleLanes;
    hn::StoreU(hn::Add(hn::LoadU(Doubles(), at), sum[p]), Doubles(), at);
  }
}

// Transposes 16 rows of 16 bytes.
HWY_INLINE void transpose(hn::Vec<Bytes>* row) {
  constexpr int kHalf = kChains16 / 2;
  for (int round = 0; round < 4; ++round) {
    hn::Vec<Bytes> mixed[kChains16];
    for (int i = 0; i < kHalf; ++i) {
      mixed[2 * i] = hn::InterleaveLower(Bytes(), row[i], row[i + kHalf]);
      mixed[2 * i + 1] = hn::InterleaveUpper(Bytes(), row[i], row[i + kHalf]);
    }
    for (int i = 0; i < kChains16; ++i) row[i] = mixed[i];
  }
}

// Copies the states [D] of sixteen chains into lanes.
HWY_INLINE void fill_lanes(const uint8_t* const* state, int64_t sites, uint8_t* lanes) {
  for (int64_t first = 0; first <= sites; first += kChains16) {
    const int64_t inside = sites - first;
    hn::Vec<Bytes> row[kChains16];
    for (int64_t l = 0; l < kChains16; ++l) {
      alignas(16) uint8_t last[kChains16] = {};
      if (inside < kChains16) std::memcpy(last, state[l] + first, inside);
      row[l] = hn::LoadU(Bytes(), inside < kChains16 ? last : state[l] + first);
    }
    transpose(row);
    for (int64_t i = 0; i < kChains16; ++i) {
      hn::Store(row[i], Bytes(), lanes + (first + i) * kChains16);
    }
  }
}

// Copies lanes back into the states of the chains whose bit in `taken` is set.
HWY_INLINE void store_lanes(const uint8_t* lanes, unsigned taken, int64_t sites,
                            uint8_t* const* state) {
  for (int64_t first = 0; first < sites; first += kChains16) {
    const int64_t inside = sites - first;
    hn::Vec<Bytes> row[kChains16];
    for (int64_t i = 0; i < kChains16; ++i) row[i] = values_at(lanes, first + i);
    transpose(row);
    for (int64_t l = 0; l < kChains16; ++l) {
      if (!(taken >> l & 1)) continue;
      if (inside >= kChains16) {
        hn::StoreU(row[l], Bytes(), state[l] + first);
        continue;
      }
      alignas(16) uint8_t last[kChains16];
      hn::Store(row[l], Bytes(), last);
      std::memcpy(state[l] + first, last, inside);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isinglass::cpu
HWY_AFTER_NAMESPACE();
#endif
#endif
