// CUDA twin of chromatic.h: one block per chain, threads over the sites of a colour. The state
// stays in shared memory from the first sweep to the last, unless it is too large.
#include "kernels/base/launch.h"
#include "kernels/gibbs/chromatic.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int64_t kSharedSites = 32 << 10;

__device__ void copy_state(uint8_t* to, const uint8_t* from, int64_t sites) {
  for (int64_t i = threadIdx.x; i < sites; i += blockDim.x) to[i] = from[i];
  __syncthreads();
}

// One sweep of x [D], for the first thread's energy and counts.
__device__ void sweep(const Lattice& lattice, const Colouring& colouring, const Draws& draws,
                      double beta, uint8_t* x, double& energy, ChainCounts& counts) {
  double difference = 0, hops = 0, broken = 0;
  for (int64_t colour = 0; colour < colouring.colours; ++colour) {
    const int64_t end = colouring.offset[colour + 1];
    for (int64_t n = colouring.offset[colour] + threadIdx.x; n < end; n += blockDim.x) {
      const SiteDraw draw = draw_site(lattice, colouring, draws, beta, n, x);
      difference += draw.difference;
      hops += draw.moved;
      broken += !draw.finite;
    }
    __syncthreads();
  }
  difference = block_sum(difference);
  hops = block_sum(hops);
  broken = block_sum(broken);
  if (threadIdx.x > 0) return;
  energy += difference;
  count_draw(counts.pointers(), 0, static_cast<int64_t>(hops), broken == 0);
}

__global__ void chromatic_sweep_kernel(Lattice lattice, Colouring colouring, int64_t steps,
                                       const int64_t* rng, const int64_t* chain_ids,
                                       const double* beta, uint8_t* x, double* energy,
                                       StepCounts counts) {
  const int64_t c = blockIdx.x, sites = lattice.sites;
  const bool shared = sites <= kSharedSites;
  uint8_t* const kept = x + c * sites;
  uint8_t* const own = shared ? dynamic_shared_memory<uint8_t>() : kept;
  if (shared) copy_state(own, kept, sites);
  double own_energy = energy[c];
  const double own_beta = beta ? beta[c] : 1;
  ChainCounts own_counts(counts, c);
  for (int64_t t = 0; t < steps; ++t) {
    sweep(lattice, colouring, step_draws(rng, chain_ids[c], t), own_beta, own, own_energy,
          own_counts);
  }
  if (shared) copy_state(kept, own, sites);
  if (threadIdx.x > 0) return;
  energy[c] = own_energy;
  own_counts.store(counts, c);
}

}  // namespace

void chromatic_sweep(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                     int64_t steps, const int64_t* rng, const int64_t* chain_ids,
                     const double* beta, uint8_t* x, double* energy, const StepCounts& counts,
                     Stream stream) {
  const int64_t shared = lattice.sites <= kSharedSites ? lattice.sites : 0;
  const LaunchShape shape{static_cast<unsigned>(chains), kThreads, static_cast<size_t>(shared)};
  ISINGLASS_LAUNCH(chromatic_sweep_kernel, shape, stream, lattice, colouring, steps, rng, chain_ids,
                   beta, x, energy, counts);
}

}  // namespace isinglass::cuda
