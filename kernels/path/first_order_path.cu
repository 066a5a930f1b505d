// Draws and scores paths to first order (CUDA version of first_order_path.h).
//
// Regime: one warp per chain; a block has 1, 2 or 4 chains. The warp builds the chain's sums and
// makes all moves of the path. Shared memory per chain: 32 weights and the sums
// (weight_sums_cuda.h), 26 KiB at D = 16 384. If a block of the device has less, the sums are in
// global memory, and a launch before this one sums the blocks of sites with many warps per chain.
// It serves all models on a GPU. On sparse graphs whose chains fit into shared memory,
// fast/lattice_path.cu takes whole steps instead.
#include "kernels/base/launch.h"
#include "kernels/path/path_moves.h"
#include "kernels/path/weight_sums_cuda.h"
#include "kernels/random/path_length.h"

namespace isinglass::cuda {
namespace {

template <class Weights>
__device__ WeightSums<Weights> path_sums(const PathShape& shape, const Weights& weights,
                                         const uint8_t* values, const Paths& paths) {
  return build_sums(weights, values, shape.sites, paths.scratch, sums_scratch(shape.sites),
                    without_replacement(shape.rule), Blocks::kSummed);
}

constexpr unsigned kSumThreads = 256;
constexpr int64_t kSumBlocks = 256;  // A block of threads sums this many blocks of sites.

// Writes the sums of all blocks of 32 sites to global memory. It also copies the values to `copy`
// unless that is null.
template <class Weights>
__global__ void sum_blocks_kernel(ISINGLASS_GRID_CONSTANT const PathShape shape,
                                  const uint8_t* values, Weights weights, double* scratch,
                                  uint8_t* copy) {
  const int64_t c = blockIdx.x % shape.chains, part = blockIdx.x / shape.chains;
  const uint8_t* own = values + c * shape.sites;
  weights.gradient += c * shape.table_size();
  WeightSums<Weights> sums(weights, own, shape.sites, nullptr,
                           scratch + c * sums_scratch(shape.sites), RemovedSites{nullptr});
  const int64_t first = part * kSumBlocks, blocks = site_blocks(shape.sites);
  const int64_t end = first + kSumBlocks < blocks ? first + kSumBlocks : blocks;
  for (int64_t b = first + threadIdx.x / kWarp; b < end; b += blockDim.x / kWarp) {
    sums.refresh(b);
    const int64_t site = b * kBlockSites + threadIdx.x % kWarp;
    if (copy && site < shape.sites) copy[c * shape.sites + site] = own[site];
  }
}

template <class Weights>
void sum_blocks(const PathShape& shape, const uint8_t* values, const Weights& weights,
                double* scratch, uint8_t* copy, Stream stream) {
  if (!scratch) return;
  const int64_t parts = (site_blocks(shape.sites) + kSumBlocks - 1) / kSumBlocks;
  const LaunchShape launch{static_cast<unsigned>(shape.chains * parts), kSumThreads};
  ISINGLASS_LAUNCH(sum_blocks_kernel<Weights>, launch, stream, shape, values, weights, scratch,
                   copy);
}

template <class Weights>
__global__ void draw_path_kernel(ISINGLASS_GRID_CONSTANT const PathShape shape, const uint8_t* x,
                                 Weights weights, const int64_t* rng, const int64_t* chain_ids,
                                 ChainScale radius, uint8_t* y,
                                 ISINGLASS_GRID_CONSTANT const Paths paths, double* log_q) {
  const int64_t c = chain_of_warp();
  if (c >= shape.chains) return;
  const PhiloxStream draws = step_draws(rng, chain_ids[c]);
  const uint8_t* from = x + c * shape.sites;
  uint8_t* to = y + c * shape.sites;
  for (int64_t i = threadIdx.x % kWarp; !paths.scratch && i < shape.sites; i += kWarp) {
    to[i] = from[i];
  }
  __syncwarp();
  const int64_t length = draw_path_length(draws, radius[c], shape.max_length);
  const Path path = path_of_chain(paths, c, length, shape.max_length);
  weights.gradient += c * shape.table_size();
  auto sums = path_sums(shape, weights, weighed_values(shape.rule, from, to), paths);
  const double log_path = draw_path_of_chain(shape.rule, sums, draws, from, to, path);
  if (!sums.leads()) return;
  paths.length[c] = static_cast<int32_t>(length);
  log_q[c] = log_path;
}

template <class Weights>
__global__ void score_path_kernel(ISINGLASS_GRID_CONSTANT const PathShape shape, uint8_t* y,
                                  Weights weights, ISINGLASS_GRID_CONSTANT const Paths paths,
                                  double* log_q) {
  const int64_t c = chain_of_warp();
  if (c >= shape.chains) return;
  uint8_t* own = y + c * shape.sites;
  const Path path = path_of_chain(paths, c, paths.length[c], shape.max_length);
  weights.gradient += c * shape.table_size();
  auto sums = path_sums(shape, weights, own, paths);
  const double log_path = score_path_of_chain(shape.rule, sums, own, path);
  if (sums.leads()) log_q[c] = log_path;
}

// Calls f with the weights of the shape; f is compiled for each kind of weights.
template <class F>
void with_path_weights(const PathShape& shape, const float* gradient, F f) {
  with_gradient_weights(shape, gradient, [&](auto weights) { with_rows(weights, f); });
}

}  // namespace

void draw_path(const PathShape& shape, const uint8_t* x, const float* gradient, const int64_t* rng,
               const int64_t* chain_ids, ChainScale radius, uint8_t* y, Paths paths, double* log_q,
               Stream stream) {
  const LaunchShape launch =
      weight_sums_launch(shape.chains, sums_scratch(shape.sites), paths.scratch);
  with_path_weights(shape, gradient, [&](auto weights) {
    sum_blocks(shape, x, weights, paths.scratch, y, stream);
    ISINGLASS_LAUNCH(draw_path_kernel<decltype(weights)>, launch, stream, shape, x, weights, rng,
                     chain_ids, radius, y, paths, log_q);
  });
}

void score_path(const PathShape& shape, uint8_t* y, const float* gradient, Paths paths,
                double* log_q, Stream stream) {
  const LaunchShape launch =
      weight_sums_launch(shape.chains, sums_scratch(shape.sites), paths.scratch);
  with_path_weights(shape, gradient, [&](auto weights) {
    sum_blocks(shape, y, weights, paths.scratch, nullptr, stream);
    ISINGLASS_LAUNCH(score_path_kernel<decltype(weights)>, launch, stream, shape, y, weights, paths,
                     log_q);
  });
}

}  // namespace isinglass::cuda
