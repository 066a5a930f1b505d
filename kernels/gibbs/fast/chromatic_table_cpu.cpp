// See chromatic_table_cpu.h.
#include "kernels/gibbs/fast/chromatic_table_cpu.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "kernels/base/blocks.h"
#include "kernels/lattice/fast/chain_lanes_avx512_cpu.h"

namespace isinglass::cpu {
namespace {

#ifdef ISINGLASS_AVX512

// The tables of thresholds that a group's chains have, and which of them has which.
struct GroupThresholds {
  int tables = 0;
  const int32_t* row;               // [D]; null: every site has its own
  const uint32_t* word[kChains16];  // [rows, 16] each
  double beta[kChains16];
  __mmask16 chains[kChains16] = {};
  int of_chain[kChains16];

  GroupThresholds(const NeighbourhoodTable& neighbourhoods, const TemperedThresholds* tempered,
                  int64_t number, int64_t count)
      : row(tempered ? tempered->row : nullptr) {
    for (int64_t l = 0; l < kChains16; ++l) {
      const int64_t place = number * kChains16 + std::min(l, count - 1);
      const int64_t table = tempered ? tempered->table[place] : 0;
      if (l == 0 || table != last_) {
        word[tables] = tempered ? tempered->word + table * tempered->rows * kNeighbourhoods
                                : neighbourhoods.threshold_word;
        beta[tables++] = tempered ? tempered->beta[table] : 1;
        last_ = table;
      }
      of_chain[l] = tables - 1;
      chains[tables - 1] = static_cast<__mmask16>(chains[tables - 1] | 1u << l);
    }
  }

  int64_t at(int64_t site) const { return (row ? row[site] : site) * kNeighbourhoods; }

 private:
  int64_t last_ = 0;
};

// A group's sweep.
struct Sweep {
  const NeighbourhoodTable& neighbourhoods;
  const Colouring& colouring;
  const LaneGroup chains;
  const GroupThresholds thresholds;
  const BlockNumbers numbers;
  uint8_t* lanes;
  double difference[kChains16] = {};  // of U
  int32_t hops[kChains16] = {};
};

// Of every chain at its neighbourhood.
template <bool kTempered>
ISINGLASS_AVX512 inline __m512i threshold_words(const GroupThresholds& thresholds, int64_t site,
                                                __m128i neighbourhood) {
  const __m512i index = _mm512_cvtepu8_epi32(neighbourhood);
  const int64_t at = thresholds.at(site);
  const auto words = [&](int t) { return thresholds.word[t] + at; };
  __m512i found = _mm512_permutexvar_epi32(index, _mm512_loadu_si512(words(0)));
  for (int t = 1; kTempered && t < thresholds.tables; ++t) {
    found = _mm512_mask_permutexvar_epi32(found, thresholds.chains[t], index,
                                          _mm512_loadu_si512(words(t)));
  }
  return found;
}

// The sites of ranks first … end − 1, which lie in one block and have one colour. Returns whether
// anywhere a number's other words decide.
template <bool kTempered>
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
    const __m512i threshold_word =
        threshold_words<kTempered>(sweep.thresholds, site, neighbourhood);
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
      int64_t neighbourhood = 0;
      for (int n = 0; n < kTableNeighbours; ++n) {
        const int64_t neighbour = neighbourhoods.neighbour[site * kTableNeighbours + n];
        neighbourhood += sweep.lanes[neighbour * kChains16 + l] << n;
      }
      const double d = neighbourhoods.flip_energy[site * kNeighbourhoods + neighbourhood];
      const GroupThresholds& thresholds = sweep.thresholds;
      const int table = thresholds.of_chain[l];
      const uint32_t threshold_word = thresholds.word[table][thresholds.at(site) + neighbourhood];
      if (words.row(rank % kBlockSites)[l] != threshold_word ||
          !draw_rank(BernoulliConditional(thresholds.beta[table] * d), sweep.chains.draws[l],
                     rank)) {
        continue;
      }
      sweep.lanes[site * kChains16 + l] = 1;
      sweep.difference[l] += d;
      sweep.hops[l] += sweep.chains.state[l][site] ? -1 : 1;
    }
  }
}

// The ranks of a block that have the colour.
void sweep_block(Sweep& sweep, int64_t block, int64_t colour) {
  BlockOf<uint32_t> words;
  sweep.numbers.fill(block, words);
  const int64_t first = std::max(sweep.colouring.offset[colour], block * kBlockSites);
  const int64_t end = std::min(sweep.colouring.offset[colour + 1], (block + 1) * kBlockSites);
  const bool open = sweep.thresholds.tables == 1 ? draw_ranks<false>(sweep, words, first, end)
                                                 : draw_ranks<true>(sweep, words, first, end);
  if (open) resolve(sweep, words, first, end);
}

ISINGLASS_AVX512 void begin(Sweep& sweep) {
  fill_lanes(sweep.chains.state, sweep.neighbourhoods.sites, sweep.lanes);
}

ISINGLASS_AVX512 void finish(const Sweep& sweep, double* energy, const StepCounts& counts) {
  const LaneGroup& chains = sweep.chains;
  store_lanes(sweep.lanes, first_bytes(chains.count), sweep.neighbourhoods.sites, chains.state);
  for (int64_t l = 0; l < chains.count; ++l) {
    energy[chains.chain[l]] += sweep.difference[l];
    count_draw(counts, chains.chain[l], sweep.hops[l], true);
  }
}

#endif

}  // namespace

int64_t find_rows(const NeighbourhoodTable& neighbourhoods, int32_t* row) {
  std::map<std::array<double, kNeighbourhoods>, int32_t> rows;
  for (int64_t i = 0; i < neighbourhoods.sites; ++i) {
    std::array<double, kNeighbourhoods> flip_energy;
    std::copy_n(neighbourhoods.flip_energy + i * kNeighbourhoods, kNeighbourhoods,
                flip_energy.begin());
    row[i] = rows.try_emplace(flip_energy, static_cast<int32_t>(rows.size())).first->second;
  }
  return static_cast<int64_t>(rows.size());
}

void tabulate_thresholds(const NeighbourhoodTable& neighbourhoods, const int32_t* row, double beta,
                         uint32_t* word) {
  int32_t rows = 0;
  for (int64_t i = 0; i < neighbourhoods.sites; ++i) {
    if (row[i] != rows) continue;  // there already
    for (int n = 0; n < kNeighbourhoods; ++n) {
      word[rows * kNeighbourhoods + n] =
          find_threshold_word(beta * neighbourhoods.flip_energy[i * kNeighbourhoods + n]);
    }
    ++rows;
  }
}

#ifdef ISINGLASS_AVX512
void table_sweep(const NeighbourhoodTable& neighbourhoods, const Colouring& colouring,
                 int64_t chains, int64_t steps, const int64_t* rng, const int64_t* chain_ids,
                 const TemperedThresholds* tempered, uint8_t* x, double* energy,
                 const StepCounts& counts) {
  const int64_t sites = neighbourhoods.sites, state = (sites + 1) * kChains16;
  const auto sweep_groups = [&](int64_t first, int64_t end, int64_t t) {
    uint8_t* states = lane_states(kLaneGroups, sites);
    std::optional<Sweep> groups[kLaneGroups];
    for (int64_t g = first; g < end; ++g) {
      const LaneGroup own(g, chains, tempered ? tempered->chain : nullptr, rng, chain_ids, t, x,
                          sites);
      groups[g - first].emplace(Sweep{
          neighbourhoods, colouring, own, GroupThresholds(neighbourhoods, tempered, g, own.count),
          BlockNumbers(own.draws, Purpose::kSiteValue), states + (g - first) * state});
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
                 const int64_t*, const TemperedThresholds*, uint8_t*, double*, const StepCounts&) {}
#endif

}  // namespace isinglass::cpu
