// Performs many one-site Gibbs steps of a lattice per launch (CUDA version of lattice_gibbs.h).
//
// Regime: one thread per chain performs all steps of a launch. Blocks have one warp, so that few
// chains are spread over the multiprocessors. It uses no shared memory; the lattice and the chain's
// state are read through the caches. It serves random and systematic scans of lattice models; other
// models, and reversed systematic scans, take one_site.cu and an evaluation of the energies in each
// step.
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
  chain_gibbs_steps<LocalEnergies>(lattice, steps, systematic, rng, chain_ids[c],
                                   x + c * lattice.sites, own_energy, own_counts);
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
