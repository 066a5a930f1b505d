// Implements the sweeps of chromatic_table.h and chromatic_table_cpu.h on the CPU, in Highway's
// vectors.
#include "kernels/gibbs/fast/chromatic_table_cpu.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>

#include "kernels/base/blocks.h"
#include "kernels/base/vectors_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gibbs/fast/chromatic_table_cpu.cpp"
#include <hwy/foreach_target.h>
// This file must follow foreach_target.h.
#include "kernels/lattice/fast/sixteen_lanes_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace isinglass::cpu {
namespace HWY_NAMESPACE {
namespace {

#if ISINGLASS_HAS_VECTORS

// Holds the threshold tables of a group's chains, one for each distinct β, and the table of each
// chain.
struct GroupThresholds {
  int tables = 0;
  const int32_t* row;               // [D]. Null gives every site its own row.
  const uint32_t* word[kChains16];  // [rows, 16] each
  double beta[kChains16];
  alignas(64) int32_t of_chain[kChains16];

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
    }
  }

  int64_t at(int64_t site) const { return (row ? row[site] : site) * kNeighbourhoods; }

 private:
  int64_t last_ = 0;
};

// Holds the state of one group's sweep.
struct Sweep {
  const NeighbourhoodTable& neighbourhoods;
  const Colouring& colouring;
  const LaneGroup chains;
  const GroupThresholds thresholds;
  const BlockNumbers numbers;
  uint8_t* lanes;
  double difference[kChains16] = {};  // It is the change of U.
  int32_t hops[kChains16] = {};
};

// Returns the threshold words of one part of the chains at their neighbourhoods.
template <bool kTempered>
HWY_INLINE hn::Vec<Words> threshold_words(const GroupThresholds& thresholds, int64_t site, int part,
                                          hn::Vec<Signed> neighbourhood) {
  const int64_t at = thresholds.at(site);
  auto found = look_up<kNeighbourhoods>(Words(), thresholds.word[0] + at, neighbourhood);
  if (!kTempered) return found;
  const auto table = hn::Load(Signed(), thresholds.of_chain + part * kWordLanes);
  for (int t = 1; t < thresholds.tables; ++t) {
    const auto words = look_up<kNeighbourhoods>(Words(), thresholds.word[t] + at, neighbourhood);
    const auto own = hn::Eq(table, hn::Set(Signed(), t));
    found = hn::IfThenElse(hn::RebindMask(Words(), own), words, found);
  }
  return found;
}

// Draws the sites of ranks first … end − 1, which lie in one block and have one colour. Returns
// true if the first word equals the threshold anywhere, where the number's other bits must decide.
template <bool kTempered>
bool draw_ranks(Sweep& sweep, const BlockOf<uint32_t>& words, int64_t first, int64_t end) {
  const NeighbourhoodTable& neighbourhoods = sweep.neighbourhoods;
  const auto one = hn::Set(Signed(), 1);
  hn::Vec<Doubles> difference[kDoubleParts];
  hn::Vec<Signed> hops[kWordParts];
  for (auto& sum : difference) sum = hn::Zero(Doubles());
  for (auto& sum : hops) sum = hn::Zero(Signed());
  auto open = hn::FirstN(Words(), 0);
  for (int64_t rank = first; rank < end; ++rank) {
    const int64_t site = sweep.colouring.site[rank];
    alignas(16) uint8_t near[kChains16];
    find_neighbourhoods(neighbourhoods, sweep.lanes, site, near);
    uint8_t* values = sweep.lanes + site * kChains16;
    for (int p = 0; p < kWordParts; ++p) {
      const auto neighbourhood = part_of(near, p), own = part_of(values, p);
      const auto threshold_word =
          threshold_words<kTempered>(sweep.thresholds, site, p, neighbourhood);
      const auto word = hn::Load(Words(), words.row(rank % kBlockSites) + p * kWordLanes);
      open = hn::Or(open, hn::Eq(word, threshold_word));
      const auto up = hn::RebindMask(Signed(), hn::Gt(word, threshold_word));
      set_part(values, p, up);
      const auto now = hn::IfThenElseZero(up, one);
      hops[p] = hn::Add(hops[p], hn::Xor(own, now));
      add_answers(neighbourhoods.flip_energy + site * kNeighbourhoods, neighbourhood,
                  hn::Sub(now, own), difference + 2 * p);
    }
  }
  add_to(sweep.difference, difference);
  for (int p = 0; p < kWordParts; ++p) {
    int32_t* at = sweep.hops + p * kWordLanes;
    hn::StoreU(hn::Add(hops[p], hn::LoadU(Signed(), at)), Signed(), at);
  }
  return !hn::AllFalse(Words(), open);
}

// Draws those sites again at which the first word equalled the threshold word. draw_ranks() has set
// them to 0, and their neighbours have not changed.
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

// Draws the ranks of a block that have the colour.
void sweep_block(Sweep& sweep, int64_t block, int64_t colour) {
  BlockOf<uint32_t> words;
  sweep.numbers.fill(block, words);
  const int64_t first = std::max(sweep.colouring.offset[colour], block * kBlockSites);
  const int64_t end = std::min(sweep.colouring.offset[colour + 1], (block + 1) * kBlockSites);
  const bool open = sweep.thresholds.tables == 1 ? draw_ranks<false>(sweep, words, first, end)
                                                 : draw_ranks<true>(sweep, words, first, end);
  if (open) resolve(sweep, words, first, end);
}

void begin(Sweep& sweep) {
  fill_lanes(sweep.chains.state, sweep.neighbourhoods.sites, sweep.lanes);
}

void finish(const Sweep& sweep, double* energy, const StepCounts& counts) {
  const LaneGroup& chains = sweep.chains;
  store_lanes(sweep.lanes, (1u << chains.count) - 1, sweep.neighbourhoods.sites, chains.state);
  for (int64_t l = 0; l < chains.count; ++l) {
    energy[chains.chain[l]] += sweep.difference[l];
    count_draw(counts, chains.chain[l], sweep.hops[l], true);
  }
}

void sweep_chains(const NeighbourhoodTable& neighbourhoods, const Colouring& colouring,
                  int64_t chains, int64_t steps, const int64_t* rng, const int64_t* chain_ids,
                  const TemperedThresholds* tempered, uint8_t* x, double* energy,
                  const StepCounts& counts) {
  const int64_t sites = neighbourhoods.sites, state = lane_bytes(sites);
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
  for_lane_groups(chains, steps, sites, kLaneGroups, [&](int64_t first, int64_t end) {
    for (int64_t t = 0; t < steps; ++t) sweep_groups(first, end, t);
  });
}

// Without vector instructions no lattice has a neighbourhood table, and this is never called.
#else
void sweep_chains(const NeighbourhoodTable&, const Colouring&, int64_t, int64_t, const int64_t*,
                  const int64_t*, const TemperedThresholds*, uint8_t*, double*, const StepCounts&) {
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace isinglass::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isinglass::cpu {

HWY_EXPORT(sweep_chains);

void tempered_table_sweep(const NeighbourhoodTable& neighbourhoods, const Colouring& colouring,
                          int64_t chains, int64_t steps, const int64_t* rng,
                          const int64_t* chain_ids, const TemperedThresholds* tempered, uint8_t* x,
                          double* energy, const StepCounts& counts) {
  HWY_DYNAMIC_DISPATCH(sweep_chains)
  (neighbourhoods, colouring, chains, steps, rng, chain_ids, tempered, x, energy, counts);
}

void table_sweep(const NeighbourhoodTable& neighbourhoods, const Colouring& colouring,
                 int64_t chains, int64_t steps, const int64_t* rng, const int64_t* chain_ids,
                 uint8_t* x, double* energy, const StepCounts& counts, double*, Stream) {
  tempered_table_sweep(neighbourhoods, colouring, chains, steps, rng, chain_ids, nullptr, x, energy,
                       counts);
}

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
    if (row[i] != rows) continue;  // The row has been computed already.
    for (int n = 0; n < kNeighbourhoods; ++n) {
      word[rows * kNeighbourhoods + n] =
          find_threshold_word(beta * neighbourhoods.flip_energy[i * kNeighbourhoods + n]);
    }
    ++rows;
  }
}

}  // namespace isinglass::cpu
#endif
