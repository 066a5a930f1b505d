// Divides large states among the blocks of a GPU: one block for each part of each chain
// (lattice_parts()). Blocks of the same part in different chains are adjacent, because they read
// the same couplings. The sums of the parts are added in the order of the parts, whatever the
// number of chains.
#pragma once

#include "kernels/base/launch.h"
#include "kernels/lattice/lattice.h"

namespace isinglass::cuda {

// Gives the range of sites that the current block works on.
struct ChainPart {
  int64_t chain, first, end;

  __device__ ChainPart(int64_t chains, int64_t sites)
      : chain(blockIdx.x % chains),
        first(blockIdx.x / chains * kPartSites),
        end(first + kPartSites) {
    if (end > sites) end = sites;
  }
};

inline LaunchShape part_launch(int64_t chains, int64_t sites, unsigned threads) {
  return {static_cast<unsigned>(chains * lattice_parts(sites)), threads};
}

// Says where the blocks store their sums.
struct PartSums {
  double constant;
  double* sum;  // [parts, B]

  __device__ void store(double own) const {
    if (threadIdx.x == 0) sum[blockIdx.x] = constant + own;
  }
};

// Writes energy [B] = constant + Σ_parts sum. It is a template because clang does not support
// inline kernels in headers.
template <class Number>
__global__ void add_parts_kernel(int64_t chains, int64_t parts, Number constant, const Number* sum,
                                 Number* energy) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= chains) return;
  Number total = 0;
  for (int64_t p = 0; p < parts; ++p) total += sum[p * chains + c];
  energy[c] = constant + total;
}

// Writes energy [B] = constant + the sums that launch(sums) computes. `parts` is scratch memory
// [lattice_parts(D), B], needed if there is more than one part.
template <class Launch>
void sum_parts(int64_t chains, int64_t sites, double constant, double* energy, double* parts,
               Stream stream, Launch launch) {
  const int64_t count = lattice_parts(sites);
  if (count <= 1) return launch(PartSums{constant, energy});
  launch(PartSums{0, parts});
  constexpr unsigned kThreads = 64;
  const auto blocks = static_cast<unsigned>((chains + kThreads - 1) / kThreads);
  ISINGLASS_LAUNCH(add_parts_kernel<double>, {blocks, kThreads}, stream, chains, count, constant,
                   parts, energy);
}

}  // namespace isinglass::cuda
