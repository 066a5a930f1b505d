// Implements exact_path.h on the CPU, with chains shared among threads.
#include "kernels/base/threads_cpu.h"
#include "kernels/path/path_moves.h"
#include "kernels/path/weight_sums_cpu.h"

namespace isinglass::cpu {

void advance_exact_path(const ExactPathShape& shape, int64_t position, const float* table,
                        const int64_t* rng, const int64_t* chain_ids, ChainScale radius, uint8_t* y,
                        ExactPaths paths, double* log_forward, double* log_backward, Stream) {
  const int64_t entries = shape.entries();
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, shape.chains * entries);
  if (shape.moves == Moves::kValues) reserve_numbers(loop.on_all_threads(), entries);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < shape.chains; ++c) {
    const PathPosition at = path_position(shape, position, rng, chain_ids, radius, paths, c);
    if (position == 0) {
      paths.length[c] = static_cast<int32_t>(at.length);
      log_forward[c] = log_backward[c] = 0;
    }
    if (position > at.length) continue;
    uint8_t* own = y + c * shape.state_bytes();
    double* scratch = paths.block_sums + c * block_sums_size(entries);
    with_exact_weights(shape, table + c * shape.table_stride(), [&](auto weights) {
      const WeightSums sums(weights, site_values(shape, own), entries, scratch);
      advance_chain(shape, sums, at, own, paths, c, log_forward, log_backward);
    });
  }
}

}  // namespace isinglass::cpu
