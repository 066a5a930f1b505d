// CUDA twin of first_order_path.h: one block per chain. All warps build the block sums (a warp sums
// 32 sites); then the first warp walks the path, since each of its moves depends on the one before.
// The sums are in shared memory (26 KiB at D = 16 384) if a block has it (weight_sums_cuda.h).
#include "kernels/base/launch.h"
#include "kernels/path/path_moves.h"
#include "kernels/path/weight_sums_cuda.h"
#include "kernels/random/path_length.h"

namespace isinglass::cuda {
namespace {

template <class Weights>
__device__ WeightSums<Weights> path_sums(const PathShape& shape, const Weights& weights,
                                         const uint8_t* values, const Paths& paths, int64_t chain) {
  double* scratch = chain_scratch(paths.scratch, sums_scratch(shape.sites), chain);
  return build_sums(weights, values, shape.sites, scratch, without_replacement(shape.rule));
}

template <class Weights>
__device__ void draw_chain(const PathShape& shape, const Weights& weights, const Draws& draws,
                           const uint8_t* x, uint8_t* y, const Paths& paths, double radius,
                           int64_t chain, double* log_q) {
  for (int64_t i = threadIdx.x; i < shape.sites; i += blockDim.x) y[i] = x[i];
  __syncthreads();
  WeightSums<Weights> sums =
      path_sums(shape, weights, weighed_values(shape.rule, x, y), paths, chain);
  if (threadIdx.x >= 32) return;
  sums.total();
  const int64_t length = draw_path_length(draws, radius, shape.max_length);
  const double log_path = draw_path_of_chain(shape.rule, sums, draws, x, y,
                                             path_of_chain(paths, chain, length, shape.max_length));
  if (!sums.leads()) return;
  paths.length[chain] = static_cast<int32_t>(length);
  log_q[chain] = log_path;
}

template <class Weights>
__device__ void score_chain(const PathShape& shape, const Weights& weights, uint8_t* y,
                            const Paths& paths, int64_t chain, double* log_q) {
  WeightSums<Weights> sums = path_sums(shape, weights, y, paths, chain);
  if (threadIdx.x >= 32) return;
  sums.total();
  const Path path = path_of_chain(paths, chain, paths.length[chain], shape.max_length);
  const double log_path = score_path_of_chain(shape.rule, sums, y, path);
  if (sums.leads()) log_q[chain] = log_path;
}

__global__ void draw_path_kernel(PathShape shape, const uint8_t* x, const float* gradient,
                                 const int64_t* rng, const int64_t* chain_ids, ChainScale radius,
                                 uint8_t* y, Paths paths, double* log_q) {
  const int64_t c = blockIdx.x;
  with_gradient_weights(shape, gradient + c * shape.table_size(), [&](auto weights) {
    draw_chain(shape, weights, step_draws(rng, chain_ids[c]), x + c * shape.sites,
               y + c * shape.sites, paths, radius[c], c, log_q);
  });
}

__global__ void score_path_kernel(PathShape shape, uint8_t* y, const float* gradient, Paths paths,
                                  double* log_q) {
  const int64_t c = blockIdx.x;
  with_gradient_weights(shape, gradient + c * shape.table_size(), [&](auto weights) {
    score_chain(shape, weights, y + c * shape.sites, paths, c, log_q);
  });
}

}  // namespace

void draw_path(const PathShape& shape, const uint8_t* x, const float* gradient, const int64_t* rng,
               const int64_t* chain_ids, ChainScale radius, uint8_t* y, Paths paths, double* log_q,
               Stream stream) {
  const LaunchShape launch =
      weight_sums_launch(shape.chains, sums_scratch(shape.sites), paths.scratch);
  ISINGLASS_LAUNCH(draw_path_kernel, launch, stream, shape, x, gradient, rng, chain_ids, radius, y,
                   paths, log_q);
}

void score_path(const PathShape& shape, uint8_t* y, const float* gradient, Paths paths,
                double* log_q, Stream stream) {
  const LaunchShape launch =
      weight_sums_launch(shape.chains, sums_scratch(shape.sites), paths.scratch);
  ISINGLASS_LAUNCH(score_path_kernel, launch, stream, shape, y, gradient, paths, log_q);
}

}  // namespace isinglass::cuda
