// Implements lattice_gibbs.h on the CPU, with chains shared among threads.
#include "kernels/base/threads_cpu.h"
#include "kernels/gibbs/lattice_gibbs.h"

namespace isinglass::cpu {

void lattice_gibbs_steps(const Lattice& lattice, int64_t chains, int64_t steps, bool systematic,
                         const int64_t* rng, const int64_t* chain_ids, uint8_t* x, double* energy,
                         const StepCounts& counts, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * steps);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < chains; ++c) {
    ChainCounts own(counts, c);
    chain_gibbs_steps<WrittenLocalEnergies>(lattice, steps, systematic, rng, chain_ids[c],
                                            x + c * lattice.sites, energy[c], own);
    own.store(counts, c);
  }
}

}  // namespace isinglass::cpu
