// Implements metropolis.h on the CPU.
#include <cstring>

#include "kernels/accept/metropolis.h"
#include "kernels/base/threads_cpu.h"

namespace isinglass::cpu {
namespace {

// Copies one chain's proposal. Returns the number of sites changed.
int64_t take_over(const StatePair& states, const AcceptedBuffers& buffers, int64_t c) {
  int64_t hops = 0;
  with_site_type(states, [&](const auto* x, const auto* y) {
    for (int64_t i = c * states.sites; i < (c + 1) * states.sites; ++i) hops += x[i] != y[i];
  });
  for (int r = 0; r < buffers.count; ++r) {
    const AcceptedBuffers::Buffer& buffer = buffers.buffer[r];
    std::memcpy(static_cast<char*>(buffer.current) + c * buffer.bytes,
                static_cast<const char*>(buffer.proposed) + c * buffer.bytes, buffer.bytes);
  }
  return hops;
}

}  // namespace

void accept(int64_t chains, const StatePair& states, const ProposalScores& scores,
            const int64_t* rng, const int64_t* chain_ids, const AcceptedBuffers& buffers,
            const StepCounts& counts, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * states.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t first = 0; first < chains; first += scores.group) {
    const double u = step_draws(rng, chain_ids[first]).uniform(Purpose::kAccept);
    const Verdict verdict = metropolis(scores, first, u);
    for (int64_t c = first; c < first + scores.group; ++c) {
      count_verdict(counts, c, verdict, verdict.accept ? take_over(states, buffers, c) : 0);
    }
  }
}

void advance(int64_t* rng, int64_t steps, Stream) {
  rng[1] += steps;
}

}  // namespace isinglass::cpu
