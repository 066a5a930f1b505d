// Implements random_walk.h on the CPU, with chains shared among threads.
#include <algorithm>

#include "kernels/base/threads_cpu.h"
#include "kernels/random_walk/random_walk.h"

namespace isinglass::cpu {

void flip_uniformly(int64_t chains, int64_t sites, int categories, const uint8_t* x,
                    const int64_t* rng, const int64_t* chain_ids, ChainScale radius,
                    bool random_count, uint8_t* y, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < chains; ++c) {
    std::copy_n(x + c * sites, sites, y + c * sites);
    const PhiloxStream draws = step_draws(rng, chain_ids[c]);
    isinglass::flip_uniformly(draws, x + c * sites, y + c * sites, sites, categories,
                              flip_count(draws, radius[c], random_count, sites));
  }
}

}  // namespace isinglass::cpu
