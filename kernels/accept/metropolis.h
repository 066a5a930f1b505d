// Performs the Metropolis–Hastings test (Hastings 1970). It is the only one in the project and
// serves every sampler with a proposal:
//
//   log ratio = U(x) − U(y) + log q(reverse | y) − log q(forward | x)
//   accept if log(u) < log ratio
//
// If U(y) is not finite or the ratio is NaN, the proposal is rejected and counted as non-finite. An
// unadjusted sampler leaves out the test, and nothing else: every finite proposal is accepted, with
// acceptance 1. An accepted chain copies the whole proposal: state, energy, gradient and the
// model's cache, row by row.
//
// Chains may be accepted in groups, all or none: the log ratios of a group are added, and u is the
// random number of its first chain.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/accept/step_counts.h"
#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"
#include "kernels/random/philox.h"

namespace isinglass {

constexpr int kMaxBuffers = 12;

// Holds x and y, of which the number of sites changed is counted: uint8, float32 or int64 [B, D],
// distinguished by their size.
struct StatePair {
  const void* x;
  const void* y;
  int64_t sites;
  int64_t site_bytes;  // 1, 4 or 8
};

// Calls f(x, y) with the two states as numbers of that size.
template <class F>
ISINGLASS_HD void with_site_type(const StatePair& states, F f) {
  if (states.site_bytes == 1) {
    f(static_cast<const uint8_t*>(states.x), static_cast<const uint8_t*>(states.y));
  } else if (states.site_bytes == 4) {
    f(static_cast<const float*>(states.x), static_cast<const float*>(states.y));
  } else {
    f(static_cast<const int64_t*>(states.x), static_cast<const int64_t*>(states.y));
  }
}

// Lists what accepted chains copy: `bytes` per chain from `proposed` to `current`.
struct AcceptedBuffers {
  struct Buffer {
    void* current;
    const void* proposed;
    int64_t bytes;
  };
  Buffer buffer[kMaxBuffers];
  int count;
};

struct ProposalScores {
  const double* energy;       // U(x) [B]
  const double* proposed;     // U(y) [B]
  const double* log_forward;  // [B]. Both are null for symmetric proposals.
  const double* log_backward;
  bool unadjusted = false;
  // Groups of this many chains are accepted together. It divides the number of chains.
  int64_t group = 1;
};

struct Verdict {
  bool accept;
  bool non_finite;
  double acceptance;
};

ISINGLASS_HD inline double log_ratio(const ProposalScores& scores, int64_t chain) {
  double ratio = scores.energy[chain] - scores.proposed[chain];
  if (scores.log_forward) ratio += scores.log_backward[chain] - scores.log_forward[chain];
  return ratio;
}

// Returns min(1, e^{log_ratio}).
ISINGLASS_HD inline double acceptance_probability(double log_ratio) {
  return log_ratio < 0 ? elementary::exp(log_ratio) : 1.0;
}

// Tests the group that begins with the chain `first`.
ISINGLASS_HD inline Verdict metropolis(const ProposalScores& scores, int64_t first, double u) {
  double ratio = 0;
  bool finite = true;
  for (int64_t c = first; c < first + scores.group; ++c) {
    ratio += log_ratio(scores, c);
    finite = finite && std::isfinite(scores.proposed[c]);
  }
  if (!finite || std::isnan(ratio)) return {false, true, 0.0};
  if (scores.unadjusted) return {true, false, 1.0};
  return {elementary::log(1 - u) < ratio, false, acceptance_probability(ratio)};
}

// Counts a step. `hops` is the Hamming distance that the chain moved.
ISINGLASS_HD inline void count_verdict(const StepCounts& counts, int64_t chain,
                                       const Verdict& verdict, int64_t hops) {
  count_step(counts, chain, verdict.acceptance, hops, !verdict.non_finite);
}

// Tests every chain and copies the accepted proposals. x itself is among the buffers. rng {seed,
// step}, chain_ids [B].
ISINGLASS_TWINS(accept, int64_t chains, const StatePair&, const ProposalScores&, const int64_t* rng,
                const int64_t* chain_ids, const AcceptedBuffers&, const StepCounts&, Stream)
// Adds `steps` to the step number in rng, after all chains have read it.
ISINGLASS_TWINS(advance, int64_t* rng, int64_t steps, Stream)

}  // namespace isinglass
