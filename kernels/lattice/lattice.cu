// Computes energies, gradients and exact differences of pairwise lattice models (CUDA version of
// lattice.h).
//
// Regime of lattice_evaluate: one block of 256 threads per part (8192 sites) of a chain; the
// threads stride over the part's sites, and a block sum gives the part's energy. Shared memory
// holds only the 32 warp sums. States of more than one part take a second launch, which adds the
// parts. It serves every lattice on a GPU, except that energies and gradients of binary lattices
// with a neighbourhood table are looked up (fast/table_evaluate.cu). Regime of lattice_differences:
// one thread per chain, for one site each; no shared memory.
#include "kernels/lattice/parts_cuda.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256;

__global__ void lattice_evaluate_kernel(Lattice lattice, int64_t chains, const uint8_t* x,
                                        bool one_hot, LocalTable what, float* table,
                                        PartSums sums) {
  const ChainPart part(chains, lattice.sites);
  const int64_t stride = lattice.sites * (one_hot ? lattice.categories : 1);
  const uint8_t* own = x + part.chain * lattice.sites;
  double sum = 0;
  for (int64_t i = part.first + threadIdx.x; i < part.end; i += blockDim.x) {
    sum += site_energy(lattice, own, i);
    if (table) local_table(lattice, own, i, one_hot, what, table + part.chain * stride);
  }
  sums.store(block_sum(sum));
}

__global__ void lattice_differences_kernel(Lattice lattice, int64_t chains, const uint8_t* x,
                                           const int64_t* site, double* difference) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= chains) return;
  const uint8_t* own = x + c * lattice.sites;
  const double here = local_energy(lattice, own, site[c], own[site[c]]);
  for (int k = 0; k < lattice.categories; ++k) {
    difference[c * lattice.categories + k] = local_energy(lattice, own, site[c], k) - here;
  }
}

}  // namespace

void lattice_evaluate(const Lattice& lattice, int64_t chains, const uint8_t* x, bool one_hot,
                      LocalTable what, double* energy, float* table, double* parts, Stream stream) {
  sum_parts(chains, lattice.sites, lattice.constant, energy, parts, stream, [&](PartSums sums) {
    ISINGLASS_LAUNCH(lattice_evaluate_kernel, part_launch(chains, lattice.sites, kThreads), stream,
                     lattice, chains, x, one_hot, what, table, sums);
  });
}

void lattice_differences(const Lattice& lattice, int64_t chains, const uint8_t* x,
                         const int64_t* site, double* difference, Stream stream) {
  const auto blocks = static_cast<unsigned>((chains + kThreads - 1) / kThreads);
  ISINGLASS_LAUNCH(lattice_differences_kernel, {blocks, kThreads}, stream, lattice, chains, x, site,
                   difference);
}

}  // namespace isinglass::cuda
