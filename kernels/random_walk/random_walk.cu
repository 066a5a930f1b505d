// Proposes random-walk flips (CUDA version of random_walk.h).
//
// Regime: one block of 128 threads per chain copies the state, and its first thread makes the
// flips. It uses no shared memory. It serves all models on a GPU; random_walk_cpu.cpp serves the
// CPU.
#include "kernels/base/launch.h"
#include "kernels/random_walk/random_walk.h"

namespace isinglass::cuda {
namespace {

__global__ void flip_uniformly_kernel(int64_t sites, int categories, const uint8_t* x,
                                      const int64_t* rng, const int64_t* chain_ids,
                                      ChainScale radius, bool random_count, uint8_t* y) {
  const int64_t c = blockIdx.x;
  for (int64_t i = threadIdx.x; i < sites; i += blockDim.x) y[c * sites + i] = x[c * sites + i];
  __syncthreads();
  if (threadIdx.x == 0) {
    const PhiloxStream draws = step_draws(rng, chain_ids[c]);
    isinglass::flip_uniformly(draws, x + c * sites, y + c * sites, sites, categories,
                              flip_count(draws, radius[c], random_count, sites));
  }
}

}  // namespace

void flip_uniformly(int64_t chains, int64_t sites, int categories, const uint8_t* x,
                    const int64_t* rng, const int64_t* chain_ids, ChainScale radius,
                    bool random_count, uint8_t* y, Stream stream) {
  ISINGLASS_LAUNCH(flip_uniformly_kernel, {static_cast<unsigned>(chains), 128u}, stream, sites,
                   categories, x, rng, chain_ids, radius, random_count, y);
}

}  // namespace isinglass::cuda
