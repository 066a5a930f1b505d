// See site_patterns.h: draw_site() (chromatic.h) of a colour's sites, for sixteen chains at a time.
#include <algorithm>

#include "kernels/pattern_lanes_cpu.h"

namespace isinglass::cpu {
namespace {

#ifdef ISINGLASS_AVX512

// One sweep of up to 16 chains.
struct Sweep {
  const SitePatterns& patterns;
  const Colouring& colouring;
  int64_t chains;
  const Draws* draws;  // [16]
  const uint8_t* x;    // [chains, D] before the sweep
  uint8_t* lanes;
  double difference[kPatternLanes] = {};  // of U
  int32_t hops[kPatternLanes] = {};
};

// The sites of ranks first … end − 1, which lie in one block and have one colour. Returns whether
// anywhere a number's other words decide.
ISINGLASS_AVX512 bool draw_ranks(Sweep& sweep, const BlockOf<uint32_t>& words, int64_t first,
                                 int64_t end) {
  const SitePatterns& patterns = sweep.patterns;
  const __m128i none = _mm_setzero_si128();
  DoubleLanes difference;
  __m512i hops = _mm512_setzero_si512();
  __mmask16 open = 0;
  for (int64_t rank = first; rank < end; ++rank) {
    const int64_t site = sweep.colouring.site[rank];
    const __m128i pattern = pattern_at(patterns, sweep.lanes, site, none);
    const __m512i undecided = _mm512_permutexvar_epi32(
        _mm512_cvtepu8_epi32(pattern), _mm512_loadu_si512(patterns.undecided + site * kPatterns));
    const __m512i word = _mm512_load_si512(words.row(rank % kBlockSites));
    const __mmask16 up = _mm512_cmpgt_epu32_mask(word, undecided);
    open |= _mm512_cmpeq_epu32_mask(word, undecided);
    const __m128i own = values_at(sweep.lanes, site);
    const __mmask16 moved = up ^ _mm_test_epi8_mask(own, own);
    set_values(sweep.lanes, site, _mm_maskz_set1_epi8(up, 1));
    hops = _mm512_mask_add_epi32(hops, moved, hops, _mm512_set1_epi32(1));
    add(look_up(patterns.flip_energy + site * kPatterns, pattern), moved & up, moved & ~up,
        difference);
  }
  alignas(64) double moved[kPatternLanes];
  store(difference, moved);
  for (int l = 0; l < kPatternLanes; ++l) sweep.difference[l] += moved[l];
  _mm512_storeu_si512(sweep.hops, _mm512_add_epi32(hops, _mm512_loadu_si512(sweep.hops)));
  return open != 0;
}

// The same sites once more where they have been put down for undecided: their neighbours are as
// they were.
void resolve(Sweep& sweep, const BlockOf<uint32_t>& words, int64_t first, int64_t end) {
  const SitePatterns& patterns = sweep.patterns;
  for (int64_t rank = first; rank < end; ++rank) {
    const int64_t site = sweep.colouring.site[rank];
    for (int64_t l = 0; l < sweep.chains; ++l) {
      int64_t at = site * kPatterns;
      for (int n = 0; n < kPatternNeighbours; ++n) {
        const int64_t neighbour = patterns.neighbour[site * kPatternNeighbours + n];
        at += sweep.lanes[neighbour * kPatternLanes + l] << n;
      }
      const double d = patterns.flip_energy[at];
      if (words.row(rank % kBlockSites)[l] != patterns.undecided[at] ||
          !FlipWeights(d).up(sweep.draws[l], rank)) {
        continue;
      }
      sweep.lanes[site * kPatternLanes + l] = 1;
      sweep.difference[l] += d;
      sweep.hops[l] += sweep.x[l * patterns.sites + site] ? -1 : 1;
    }
  }
}

void sweep_colours(Sweep& sweep) {
  const BlockNumbers numbers(sweep.draws, Purpose::kSiteValue);
  BlockOf<uint32_t> words;
  for (int64_t colour = 0; colour < sweep.colouring.colours; ++colour) {
    const int64_t begin = sweep.colouring.offset[colour], end = sweep.colouring.offset[colour + 1];
    for (int64_t block = begin / kBlockSites; block * kBlockSites < end; ++block) {
      numbers.fill(block, words);
      const int64_t first = std::max(begin, block * kBlockSites);
      const int64_t last = std::min(end, (block + 1) * kBlockSites);
      if (draw_ranks(sweep, words, first, last)) resolve(sweep, words, first, last);
    }
  }
}

#endif

}  // namespace

#ifdef ISINGLASS_AVX512
ISINGLASS_AVX512
void pattern_sweep(const SitePatterns& patterns, const Colouring& colouring, int64_t chains,
                   int64_t steps, const int64_t* rng, const int64_t* chain_ids, uint8_t* x,
                   double* energy, const StepCounts& counts) {
  const int64_t sites = patterns.sites;
#pragma omp parallel for schedule(static) if (worth_threads(steps * chains * sites))
  for (int64_t first = 0; first < chains; first += kPatternLanes) {
    const int64_t count = std::min<int64_t>(kPatternLanes, chains - first);
    const LaneScratch scratch(sites);
    uint8_t* own = x + first * sites;
    for (int64_t t = 0; t < steps; ++t) {
      Draws draws[kPatternLanes];
      for (int64_t l = 0; l < kPatternLanes; ++l) {
        draws[l] = step_draws(rng, chain_ids[first + std::min(l, count - 1)], t);
      }
      fill_lanes(own, count, sites, scratch.x);
      Sweep sweep{patterns, colouring, count, draws, own, scratch.x};
      sweep_colours(sweep);
      store_lanes(scratch.x, first_bytes(count), sites, own);
      for (int64_t l = 0; l < count; ++l) {
        energy[first + l] += sweep.difference[l];
        count_draw(counts, first + l, sweep.hops[l], true);
      }
    }
  }
}
#else
void pattern_sweep(const SitePatterns&, const Colouring&, int64_t, int64_t, const int64_t*,
                   const int64_t*, uint8_t*, double*, const StepCounts&) {}
#endif

}  // namespace isinglass::cpu
