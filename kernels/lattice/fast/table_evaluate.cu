// Computes energies and gradients of binary lattices by look-up in a neighbourhood table
// (table_evaluate.h).
//
// Regime: one block of 256 threads per part (8192 sites) of a chain; the threads stride over the
// part's sites. Shared memory holds only the 32 warp sums of the energy. States of more than one
// part take a second launch, which adds the parts. It serves energies and gradients of binary
// lattices that have a table; everything else runs lattice.cu.
#include "kernels/lattice/fast/table_cuda.h"
#include "kernels/lattice/fast/table_evaluate.h"
#include "kernels/lattice/parts_cuda.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256;

__global__ void table_evaluate_kernel(NeighbourhoodTable table, int64_t chains, const uint8_t* x,
                                      float* gradient, PartSums sums) {
  const ChainPart part(chains, table.sites);
  const uint8_t* own = x + part.chain * table.sites;
  double sum = 0;
  for (int64_t i = part.first + threadIdx.x; i < part.end; i += blockDim.x) {
    const int64_t place = place_of(table, own, i);
    sum += tabulated_energy(table, place, own[i] != 0);
    if (gradient) gradient[part.chain * table.sites + i] = table.gradient[place];
  }
  sums.store(block_sum(sum));
}

}  // namespace

void table_evaluate(const NeighbourhoodTable& table, int64_t chains, const uint8_t* x,
                    double* energy, float* gradient, double* parts, Stream stream) {
  sum_parts(chains, table.sites, table.constant, energy, parts, stream, [&](PartSums sums) {
    ISINGLASS_LAUNCH(table_evaluate_kernel, part_launch(chains, table.sites, kThreads), stream,
                     table, chains, x, gradient, sums);
  });
}

}  // namespace isinglass::cuda
