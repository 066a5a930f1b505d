// Makes one move of a path with exact differences (CUDA version of exact_path.h).
//
// Regime: one warp per chain; a block has 1, 2 or 4 chains. The warp builds the chain's sums,
// scores the reverse of the last move and draws the next one. Shared memory per chain: 32 weights
// and the block sums, up to 48·⌈D/32⌉ bytes for D entries; if a block of the device has less, the
// sums are in global memory. It takes a launch per move, because each state needs a model
// evaluation. On sparse graphs whose chains fit into shared memory, fast/lattice_path.cu takes
// whole steps instead.
#include "kernels/base/launch.h"
#include "kernels/path/path_moves.h"
#include "kernels/path/weight_sums_cuda.h"

namespace isinglass::cuda {
namespace {

__global__ void advance_exact_path_kernel(ISINGLASS_GRID_CONSTANT const ExactPathShape shape,
                                          int64_t position, const float* table, const int64_t* rng,
                                          const int64_t* chain_ids, ChainScale radius, uint8_t* y,
                                          ISINGLASS_GRID_CONSTANT const ExactPaths paths,
                                          double* log_forward, double* log_backward) {
  const int64_t c = chain_of_warp(), entries = shape.entries();
  if (c >= shape.chains) return;
  const PathPosition at = path_position(shape, position, rng, chain_ids, radius, paths, c);
  if (position == 0 && threadIdx.x % kWarp == 0) {
    paths.length[c] = static_cast<int32_t>(at.length);
    log_forward[c] = log_backward[c] = 0;
  }
  if (position > at.length) return;
  uint8_t* own = y + c * shape.state_bytes();
  const auto advance = [&](auto weights) {
    const auto sums = build_sums(weights, site_values(shape, own), entries, paths.block_sums,
                                 block_sums_size(entries));
    advance_chain(shape, sums, at, own, paths, c, log_forward, log_backward);
  };
  with_exact_weights(shape, table + c * shape.table_stride(),
                     [&](auto weights) { with_rows(weights, advance); });
}

}  // namespace

void advance_exact_path(const ExactPathShape& shape, int64_t position, const float* table,
                        const int64_t* rng, const int64_t* chain_ids, ChainScale radius, uint8_t* y,
                        ExactPaths paths, double* log_forward, double* log_backward,
                        Stream stream) {
  const LaunchShape launch =
      weight_sums_launch(shape.chains, block_sums_size(shape.entries()), paths.block_sums);
  ISINGLASS_LAUNCH(advance_exact_path_kernel, launch, stream, shape, position, table, rng,
                   chain_ids, radius, y, paths, log_forward, log_backward);
}

}  // namespace isinglass::cuda
