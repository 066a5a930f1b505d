// CUDA twin of lattice_gibbs.h: a thread a chain, in blocks of one warp, so that few chains are spread
// over the multiprocessors, makes all steps of a launch. The lattice and the chain's neighbourhoods
// are read through the caches.
#include "kernels/base/launch.h"
#include "kernels/gibbs/lattice_gibbs.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 32;

__global__ void lattice_gibbs_kernel(Lattice lattice, int64_t chains, int64_t steps,
                                     bool systematic, const int64_t* rng, const int64_t* chain_ids,
                                     uint8_t* x, double* energy, StepCounts counts) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= chains) return;
  ChainCounts own_counts(counts, c);
  double own_energy = energy[c];
  chain_gibbs_steps(lattice, steps, systematic, rng, chain_ids[c], x + c * lattice.sites,
                    own_energy, own_counts);
  energy[c] = own_energy;
  own_counts.store(counts, c);
}

}  // namespace

void lattice_gibbs_steps(const Lattice& lattice, int64_t chains, int64_t steps, bool systematic,
                         const int64_t* rng, const int64_t* chain_ids, uint8_t* x, double* energy,
                         const StepCounts& counts, Stream stream) {
  const auto blocks = static_cast<unsigned>((chains + kThreads - 1) / kThreads);
  ISINGLASS_LAUNCH(lattice_gibbs_kernel, {blocks, kThreads}, stream, lattice, chains, steps,
                   systematic, rng, chain_ids, x, energy, counts);
}

}  // namespace isinglass::cuda
