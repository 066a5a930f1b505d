// CPU twin of metropolis.h.
#include <cstring>

#include "kernels/accept/metropolis.h"

namespace isinglass::cpu {
namespace {

// Takes over the proposal; returns the hops.
int64_t take_over(const StatePair& states, const Rows& rows, int64_t c) {
  int64_t hops = 0;
  with_site_type(states, [&](const auto* x, const auto* y) {
    for (int64_t i = c * states.sites; i < (c + 1) * states.sites; ++i) hops += x[i] != y[i];
  });
  for (int r = 0; r < rows.count; ++r) {
    const Rows::Row& row = rows.row[r];
    std::memcpy(static_cast<char*>(row.current) + c * row.bytes,
                static_cast<const char*>(row.proposed) + c * row.bytes, row.bytes);
  }
  return hops;
}

}  // namespace

void accept(int64_t chains, const StatePair& states, const ProposalScores& scores,
            const int64_t* rng, const int64_t* chain_ids, const Rows& rows,
            const StepCounts& counts, Stream) {
#pragma omp parallel for schedule(static) if (worth_threads(chains * states.sites))
  for (int64_t first = 0; first < chains; first += scores.group) {
    const double u = step_draws(rng, chain_ids[first]).uniform(Purpose::kAccept);
    const Verdict verdict = metropolis(scores, first, u);
    for (int64_t c = first; c < first + scores.group; ++c) {
      count_verdict(counts, c, verdict, verdict.accept ? take_over(states, rows, c) : 0);
    }
  }
}

void advance(int64_t* rng, int64_t steps, Stream) {
  rng[1] += steps;
}

}  // namespace isinglass::cpu
