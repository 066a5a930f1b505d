// Implements step_normals() of normal.h on the CPU, with loops over chains on several threads.
#include "kernels/base/threads_cpu.h"
#include "kernels/random/fast/normal_rows_cpu.h"
#include "kernels/random/normal.h"

namespace isinglass::cpu {

void step_normals(int64_t chains, int64_t sites, const int64_t* rng, const int64_t* chain_ids,
                  double* out, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < chains; ++c) {
    each_normal(step_draws(rng, chain_ids[c]), Purpose::kNoise, sites,
                [&](int64_t i, double number) { out[c * sites + i] = number; });
  }
}

}  // namespace isinglass::cpu
