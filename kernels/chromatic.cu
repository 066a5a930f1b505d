// CUDA twin of chromatic.h: one block per chain, threads over the sites of a colour.
#include "kernels/chromatic.h"
#include "kernels/launch.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256;

// The block's sum, for its first thread.
__device__ double block_sum(double v) {
  __shared__ double of_warp[kThreads / 32];
  v = warp_sum(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
  __syncthreads();
  double total = 0;
  for (double part : of_warp) total += part;
  return total;
}

__global__ void chromatic_sweep_kernel(Lattice lattice, Colouring colouring, const int64_t* rng,
                                       const int64_t* chain_ids, uint8_t* x, double* energy,
                                       StepCounts counts) {
  const int64_t c = blockIdx.x;
  const Draws draws = step_draws(rng, chain_ids[c]);
  uint8_t* own = x + c * lattice.sites;
  double difference = 0, hops = 0, broken = 0;
  for (int64_t colour = 0; colour < colouring.colours; ++colour) {
    const int64_t end = colouring.offset[colour + 1];
    for (int64_t n = colouring.offset[colour] + threadIdx.x; n < end; n += blockDim.x) {
      const SiteDraw draw = draw_site(lattice, colouring, draws, n, own);
      difference += draw.difference;
      hops += draw.moved;
      broken += !draw.finite;
    }
    __syncthreads();
  }
  difference = block_sum(difference);
  hops = block_sum(hops);
  broken = block_sum(broken);
  if (threadIdx.x == 0) {
    energy[c] += difference;
    count_draw(counts, c, static_cast<int64_t>(hops), broken == 0);
  }
}

}  // namespace

void chromatic_sweep(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                     const int64_t* rng, const int64_t* chain_ids, uint8_t* x, double* energy,
                     const StepCounts& counts, Stream stream) {
  ISINGLASS_LAUNCH(chromatic_sweep_kernel, {static_cast<unsigned>(chains), kThreads}, stream,
                   lattice, colouring, rng, chain_ids, x, energy, counts);
}

}  // namespace isinglass::cuda
