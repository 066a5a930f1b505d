// See chromatic_table_cpu.h.
#include "kernels/gibbs/fast/chromatic_table_cpu.h"

#include <algorithm>
#include <optional>

#include "kernels/base/blocks.h"
#include "kernels/lattice/fast/chain_lanes_avx512_cpu.h"

namespace isinglass::cpu {
namespace {

#ifdef ISINGLASS_AVX512

// A group's sweep.
struct Sweep {
  const NeighbourhoodTable& neighbourhoods;
  const Colouring& colouring;
  const LaneGroup chains;
  const BlockNumbers numbers;
  uint8_t* x;  // [chains, D]
  uint8_t* lanes;
  double difference[kChains16] = {};  // of U
  int32_t hops[kChains16] = {};
};

// The sites of ranks first … end − 1, which lie in one block and have one colour. Returns whether
// anywhere a number's other words decide.
ISINGLASS_AVX512 bool draw_ranks(Sweep& sweep, const BlockOf<uint32_t>& words, int64_t first,
                                 int64_t end) {
  const NeighbourhoodTable& neighbourhoods = sweep.neighbourhoods;
  const __m128i none = _mm_setzero_si128();
  DoubleLanes difference;
  __m512i hops = _mm512_setzero_si512();
  __mmask16 open = 0;
  for (int64_t rank = first; rank < end; ++rank) {
    const int64_t site = sweep.colouring.site[rank];
    const __m128i neighbourhood = neighbourhood_at(neighbourhoods, sweep.lanes, site, none);
    const __m512i threshold_word = _mm512_permutexvar_epi32(
        _mm512_cvtepu8_epi32(neighbourhood),
        _mm512_loadu_si512(neighbourhoods.threshold_word + site * kNeighbourhoods));
    const __m512i word = _mm512_load_si512(words.row(rank % kBlockSites));
    const __mmask16 up = _mm512_cmpgt_epu32_mask(word, threshold_word);
    open |= _mm512_cmpeq_epu32_mask(word, threshold_word);
    const __m128i own = values_at(sweep.lanes, site);
    const __mmask16 moved = up ^ _mm_test_epi8_mask(own, own);
    set_values(sweep.lanes, site, _mm_maskz_set1_epi8(up, 1));
    hops = _mm512_mask_add_epi32(hops, moved, hops, _mm512_set1_epi32(1));
    add(look_up(neighbourhoods.flip_energy + site * kNeighbourhoods, neighbourhood), moved & up,
        moved & ~up, difference);
  }
  alignas(64) double moved[kChains16];
  store(difference, moved);
  for (int l = 0; l < kChains16; ++l) sweep.difference[l] += moved[l];
  _mm512_storeu_si512(sweep.hops, _mm512_add_epi32(hops, _mm512_loadu_si512(sweep.hops)));
  return open != 0;
}

// The same sites once more where the first word was the threshold word: they have been set to 0,
// and their neighbours are as they were.
void resolve(Sweep& sweep, const BlockOf<uint32_t>& words, int64_t first, int64_t end) {
  const NeighbourhoodTable& neighbourhoods = sweep.neighbourhoods;
  for (int64_t rank = first; rank < end; ++rank) {
    const int64_t site = sweep.colouring.site[rank];
    for (int64_t l = 0; l < sweep.chains.count; ++l) {
      int64_t at = site * kNeighbourhoods;
      for (int n = 0; n < kTableNeighbours; ++n) {
        const int64_t neighbour = neighbourhoods.neighbour[site * kTableNeighbours + n];
        at += sweep.lanes[neighbour * kChains16 + l] << n;
      }
      const double d = neighbourhoods.flip_energy[at];
      if (words.row(rank % kBlockSites)[l] != neighbourhoods.threshold_word[at] ||
          !draw_rank(BernoulliConditional(d), sweep.chains.draws[l], rank)) {
        continue;
      }
      sweep.lanes[site * kChains16 + l] = 1;
      sweep.difference[l] += d;
      sweep.hops[l] += sweep.x[l * neighbourhoods.sites + site] ? -1 : 1;
    }
  }
}

// The ranks of a block that have the colour.
void sweep_block(Sweep& sweep, int64_t block, int64_t colour) {
  BlockOf<uint32_t> words;
  sweep.numbers.fill(block, words);
  const int64_t first = std::max(sweep.colouring.offset[colour], block * kBlockSites);
  const int64_t end = std::min(sweep.colouring.offset[colour + 1], (block + 1) * kBlockSites);
  if (draw_ranks(sweep, words, first, end)) resolve(sweep, words, first, end);
}

ISINGLASS_AVX512 void begin(Sweep& sweep) {
  fill_lanes(sweep.x, sweep.chains.count, sweep.neighbourhoods.sites, sweep.lanes);
}

ISINGLASS_AVX512 void finish(const Sweep& sweep, double* energy, const StepCounts& counts) {
  store_lanes(sweep.lanes, first_bytes(sweep.chains.count), sweep.neighbourhoods.sites, sweep.x);
  for (int64_t l = 0; l < sweep.chains.count; ++l) {
    energy[sweep.chains.first + l] += sweep.difference[l];
    count_draw(counts, sweep.chains.first + l, sweep.hops[l], true);
  }
}

#endif

}  // namespace

#ifdef ISINGLASS_AVX512
void table_sweep(const NeighbourhoodTable& neighbourhoods, const Colouring& colouring,
                 int64_t chains, int64_t steps, const int64_t* rng, const int64_t* chain_ids,
                 uint8_t* x, double* energy, const StepCounts& counts) {
  const int64_t sites = neighbourhoods.sites, state = (sites + 1) * kChains16;
  const auto sweep_groups = [&](int64_t first, int64_t end, int64_t t) {
    uint8_t* states = lane_states(kLaneGroups, sites);
    std::optional<Sweep> groups[kLaneGroups];
    for (int64_t g = first; g < end; ++g) {
      const LaneGroup own(g, chains, rng, chain_ids, t);
      groups[g - first].emplace(Sweep{neighbourhoods, colouring, own,
                                      BlockNumbers(own.draws, Purpose::kSiteValue),
                                      x + own.first * sites, states + (g - first) * state});
      begin(*groups[g - first]);
    }
    for (int64_t k = 0; k < colouring.colours; ++k) {
      for (int64_t block = colouring.offset[k] / kBlockSites;
           block * kBlockSites < colouring.offset[k + 1]; ++block) {
        for (int64_t g = 0; g < end - first; ++g) sweep_block(*groups[g], block, k);
      }
    }
    for (int64_t g = 0; g < end - first; ++g) finish(*groups[g], energy, counts);
  };
  for_lane_groups(chains, steps, sites, [&](int64_t first, int64_t end) {
    for (int64_t t = 0; t < steps; ++t) sweep_groups(first, end, t);
  });
}
#else  // no lattice has a neighbourhood table
void table_sweep(const NeighbourhoodTable&, const Colouring&, int64_t, int64_t, const int64_t*,
                 const int64_t*, uint8_t*, double*, const StepCounts&) {}
#endif

}  // namespace isinglass::cpu
