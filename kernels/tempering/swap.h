// Performs a round of swaps of non-reversible parallel tempering (Syed, Bouchard-Côté,
// Deligiannidis & Doucet 2022, "Non-reversible parallel tempering", algorithm 1).
//
// C ensembles of R chains are on a temperature ladder of R rungs, β_0 = 0 < … < β_{R−1} = 1, with
// energies U_β. In step n the pairs of rungs (i, i + 1) with i ≡ n mod 2 swap their chains with
// probability
//
//   α_i = min(1, exp(Δ_i(x_{i+1}) − Δ_i(x_i))),  Δ_i = U_{β_{i+1}} − U_{β_i}
//
// On the linear path U_β = U_0 + β V, V = U − U_0, so that Δ_i = (β_{i+1} − β_i) V; on any other
// path the energies of a chain on the rungs next to its own are given. α_i is averaged over the
// steps that measure a pair (measured_pairs.h). States stay where they are: two chains exchange
// their rungs, with the β and the sampler's scales of each.
//
// Chains are numbered through all ensembles: those of ensemble e are e·R … e·R + R − 1.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/accept/metropolis.h"
#include "kernels/accept/step_counts.h"
#include "kernels/base/host_device.h"
#include "kernels/base/measured_pairs.h"
#include "kernels/random/philox.h"
#include "kernels/tempering/mixture.h"

namespace isinglass {

struct Ladder {
  int64_t ensembles, rungs;
  int64_t scales;       // n. A sampler has this many parameters.
  const double* beta;   // [R]
  const double* scale;  // [R, n]
};

// Holds what each chain has of its rung, and its energies: U_0 and U on the linear path, and U_β on
// the rungs next to its own on any other path. The two arrays that are not used are null.
struct RungChains {
  int64_t* chain;        // [C, R]. Holds the chain on each rung.
  double* beta;          // [C·R]
  double* scale;         // [C·R, n]
  const double* start;   // [C·R]: U_0
  const double* target;  // [C·R]: U
  // [C·R]. It is U_{β_{i−1}} of the chain on rung i, if pair i − 1 is measured.
  const double* below;
  const double* above;  // [C·R]. It is U_{β_{i+1}}, if pair i is measured.
  double* energy;       // [C·R]: U_β
};

// Holds sums and records over steps.
struct SwapCounts {
  double* rejection;   // [C, R − 1]: Σ (1 − α)
  double* acceptance;  // [C, R]. Sums the local steps' mean acceptance.
  // [C·R]. It is 0 until a chain has been on rung 0. Then it says which end the chain visited last:
  // 1 for rung 0, 2 for rung R − 1.
  int64_t* end;
  int64_t* trips;        // [C]. Counts round trips from rung 0 to rung R − 1 and back.
  int16_t* history;      // [H, R]. Holds the rungs of ensemble 0's chains in the last H steps.
  int64_t history_size;  // H
  double* delta_u;       // [S, C, R − 1, 2]. Holds Δ_i(x_i) and Δ_i(x_{i+1}) of the kept draws.
  MeasuredPairs measured;
};

// Holds the chains at β = 1, as a batch of C.
struct TopChains {
  const uint8_t* states;  // [C·R, bytes]
  uint8_t* x;             // [C, bytes]
  int64_t bytes;
  double* energy;  // [C]: U
  int64_t local;   // The chains' sums cover this many local steps.
  // They belong to the C·R chains. Their sums are added to `counted` and cleared.
  StepCounts chains;
  StepCounts counted;  // They belong to the C chains at β = 1.
};

ISINGLASS_HD inline double swap_probability(double log_ratio) {
  return std::isnan(log_ratio) ? 0 : acceptance_probability(log_ratio);
}

// Performs one ensemble's round of swaps. Both devices call take_counts, clear_counts, swap and
// place in this order, each for all i before the next.
struct SwapRound {
  const Ladder& ladder;
  const RungChains& at;
  const SwapCounts& counts;
  const TopChains& top;
  const int64_t* rng;
  int64_t ensemble;

  ISINGLASS_HD int64_t& chain(int64_t i) const { return at.chain[ensemble * ladder.rungs + i]; }
  // Return Δ_i at the chain on rung i, and at the chain on rung i + 1.
  ISINGLASS_HD double delta_u_of_lower(int64_t i) const {
    const int64_t c = chain(i);
    return at.above ? at.above[c] - at.energy[c] : linear_rise(i, c);
  }
  ISINGLASS_HD double delta_u_of_upper(int64_t i) const {
    const int64_t c = chain(i + 1);
    return at.below ? at.energy[c] - at.below[c] : linear_rise(i, c);
  }
  ISINGLASS_HD double linear_rise(int64_t i, int64_t c) const {
    return (ladder.beta[i + 1] - ladder.beta[i]) * (at.target[c] - at.start[c]);
  }
  ISINGLASS_HD double probability(int64_t i) const {
    return swap_probability(delta_u_of_upper(i) - delta_u_of_lower(i));
  }

  // Adds the statistics of rung i since the last round.
  ISINGLASS_HD void take_counts(int64_t i) const {
    const int64_t c = chain(i), here = ensemble * ladder.rungs + i;
    const double acceptance = top.chains.acceptance_sum[c] / static_cast<double>(top.local);
    counts.acceptance[here] += acceptance;
    if (i + 1 == ladder.rungs) {
      return count_step(top.counted, ensemble, acceptance, top.chains.hops_sum[c], true);
    }
    if (!counts.measured.measures(i, rng[1])) return;
    const int64_t pair = here - ensemble, pairs = ladder.ensembles * (ladder.rungs - 1);
    counts.rejection[pair] += 1 - probability(i);
    const int64_t draw = counts.measured.draw(rng[1]);
    if (draw >= 0) {
      double* delta_u = counts.delta_u + 2 * (draw * pairs + pair);
      delta_u[0] = delta_u_of_lower(i);
      delta_u[1] = delta_u_of_upper(i);
    }
  }

  // Clears the sums of a chain, which have been added. Only rung 0's thread adds the counts of
  // energies that were not finite, for all rungs.
  ISINGLASS_HD void clear_counts(int64_t i) const {
    const int64_t c = chain(i);
    top.chains.acceptance_sum[c] = 0;
    top.chains.hops_sum[c] = 0;
    if (i > 0) return;
    for (int64_t r = 0; r < ladder.rungs; ++r) {
      top.counted.non_finite[ensemble] += top.chains.non_finite[chain(r)];
      top.chains.non_finite[chain(r)] = 0;
    }
  }

  ISINGLASS_HD void swap(int64_t i, int64_t ensemble_id) const {
    if (i + 1 >= ladder.rungs || !MeasuredPairs::swaps(i, rng[1])) return;
    const double u = step_draws(rng, ensemble_id).uniform(Purpose::kSwap, static_cast<uint32_t>(i));
    if (u >= probability(i)) return;
    const int64_t lower = chain(i);
    chain(i) = chain(i + 1);
    chain(i + 1) = lower;
  }

  // Returns U_β of rung i at the chain c that has just moved there and still has its previous β.
  ISINGLASS_HD double energy_on(int64_t i, int64_t c) const {
    if (!at.below) return mixed(at.start[c], at.target[c], ladder.beta[i]);
    if (at.beta[c] == ladder.beta[i]) return at.energy[c];
    return at.beta[c] < ladder.beta[i] ? at.above[c] : at.below[c];
  }

  // Updates the chain that is now on rung i.
  ISINGLASS_HD void place(int64_t i) const {
    const int64_t c = chain(i), last = ladder.rungs - 1;
    const double beta = ladder.beta[i];
    at.energy[c] = energy_on(i, c);
    at.beta[c] = beta;
    for (int64_t k = 0; k < ladder.scales; ++k) {
      at.scale[c * ladder.scales + k] = ladder.scale[i * ladder.scales + k];
    }
    if (ensemble == 0) {
      counts.history[rng[1] % counts.history_size * ladder.rungs + c] = static_cast<int16_t>(i);
    }
    if (i == 0) {
      counts.trips[ensemble] += counts.end[c] == 2;
      counts.end[c] = 1;
    } else if (i == last) {
      top.energy[ensemble] = at.energy[c];
      if (counts.end[c] == 1) counts.end[c] = 2;
    }
  }
};

// Lists rows [C, bytes], of one tensor each, that replace the rows of the chains on rung 0.
constexpr int kMaxRows = 12;
struct ReferenceRows {
  struct Row {
    uint8_t* chains;     // [C·R, bytes]
    const uint8_t* own;  // [C, bytes]
    int64_t bytes;
  };
  Row row[kMaxRows];
  int count;
};

// Performs a round of swaps; rng {seed, step}; ensemble_ids [C].
ISINGLASS_TWINS(swap_rungs, const Ladder&, const RungChains&, const SwapCounts&, const TopChains&,
                const int64_t* rng, const int64_t* ensemble_ids, Stream)
// Replaces the rows of the chains on rung 0, in steps of even number, in which rungs 0 and 1 swap.
// chain [C, R].
ISINGLASS_TWINS(replace_reference, int64_t ensembles, int64_t rungs, const int64_t* rng,
                const int64_t* chain, const ReferenceRows&, Stream)

}  // namespace isinglass
