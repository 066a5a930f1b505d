// Implements swap.h on the CPU, one ensemble after the other.
#include <algorithm>

#include "kernels/tempering/swap.h"

namespace isinglass::cpu {

void swap_rungs(const Ladder& ladder, const RungChains& at, const SwapCounts& counts,
                const TopChains& top, const int64_t* rng, const int64_t* ensemble_ids, Stream) {
  const int64_t rungs = ladder.rungs;
  for (int64_t e = 0; e < ladder.ensembles; ++e) {
    const SwapRound round{ladder, at, counts, top, rng, e};
    for (int64_t i = 0; i < rungs; ++i) round.take_counts(i);
    for (int64_t i = 0; i < rungs; ++i) round.clear_counts(i);
    for (int64_t i = 0; i < rungs; ++i) round.swap(i, ensemble_ids[e]);
    for (int64_t i = 0; i < rungs; ++i) round.place(i);
    std::copy_n(top.states + round.chain(rungs - 1) * top.bytes, top.bytes, top.x + e * top.bytes);
  }
}

void replace_reference(int64_t ensembles, int64_t rungs, const int64_t* rng, const int64_t* chain,
                       const ReferenceRows& rows, Stream) {
  if (rng[1] % 2 != 0) return;
  for (int r = 0; r < rows.count; ++r) {
    const auto& [chains, own, bytes] = rows.row[r];
    for (int64_t e = 0; e < ensembles; ++e) {
      std::copy_n(own + e * bytes, bytes, chains + chain[e * rungs] * bytes);
    }
  }
}

}  // namespace isinglass::cpu
