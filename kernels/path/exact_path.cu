// CUDA twin of exact_path.h: one block per chain. All warps build the sums, the first one
// scores and draws.
#include "kernels/path/exact_path.h"
#include "kernels/path/weight_sums_cuda.h"

namespace isinglass::cuda {
namespace {

template <class Rows>
__device__ void follow_chain(const DifferencePathShape& shape, Rows rows, const PathPosition& at,
                             uint8_t* y, DifferencePaths paths, int64_t chain, double* log_forward,
                             double* log_backward) {
  const uint8_t* values = site_values(shape, y);
  SiteSums<Rows> sums =
      build_sums(rows, values, shape.entries(),
                 chain_scratch(paths.block_sums, block_sums_size(shape.entries()), chain));
  if (threadIdx.x >= 32) return;
  const unsigned lane = threadIdx.x;
  sums.total(lane);
  if (at.position > 0 && lane == 0) {
    const int64_t last = paths.entry[chain];
    log_backward[chain] +=
        rows.log_weight(last, values ? values[last] : 0, paths.from[chain]) - sums.log_total();
  }
  if (at.position == at.length) return;
  const int64_t entry = sums.draw_site(at.draws.uniform(Purpose::kSite, at.position), lane);
  if (lane > 0) return;
  const int from = values ? values[entry] : 0;
  const int to = rows.draw_value(entry, from, at.draws.uniform(Purpose::kValue, at.position));
  log_forward[chain] += rows.log_weight(entry, from, to) - sums.log_total();
  paths.entry[chain] = static_cast<int32_t>(entry);
  paths.from[chain] = static_cast<uint8_t>(from);
  make_move(shape, y, entry, to);
}

__global__ void follow_path_kernel(DifferencePathShape shape, int64_t position, const float* table,
                                   const int64_t* rng, const int64_t* chain_ids,
                                   const double* radius, uint8_t* y, DifferencePaths paths,
                                   double* log_forward, double* log_backward) {
  const int64_t c = blockIdx.x;
  const PathPosition at = path_position(shape, position, rng, chain_ids, radius, paths, c);
  if (position == 0 && threadIdx.x == 0) {
    paths.length[c] = static_cast<int32_t>(at.length);
    log_forward[c] = log_backward[c] = 0;
  }
  if (position > at.length) return;
  with_difference_rows(shape, table + c * shape.table_stride(), [&](auto rows) {
    follow_chain(shape, rows, at, y + c * shape.state_bytes(), paths, c, log_forward, log_backward);
  });
}

}  // namespace

void follow_path(const DifferencePathShape& shape, int64_t position, const float* table,
                 const int64_t* rng, const int64_t* chain_ids, const double* radius, uint8_t* y,
                 DifferencePaths paths, double* log_forward, double* log_backward, Stream stream) {
  const LaunchShape launch =
      site_sums_launch(shape.chains, block_sums_size(shape.entries()), paths.block_sums);
  ISINGLASS_LAUNCH(follow_path_kernel, launch, stream, shape, position, table, rng, chain_ids,
                   radius, y, paths, log_forward, log_backward);
}

}  // namespace isinglass::cuda
