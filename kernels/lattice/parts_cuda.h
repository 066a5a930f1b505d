// Large states on a GPU: a block for every part of every chain (lattice_parts()). Blocks of the same part
// are side by side, as they read the same couplings. What the parts add to is summed in their order,
// however many chains there are.
#pragma once

#include "kernels/base/launch.h"
#include "kernels/lattice/lattice.h"

namespace isinglass::cuda {

// The sites of a block.
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

// Where the blocks' sums go.
struct PartSums {
  double constant;
  double* sum;  // [parts, B]

  __device__ void store(double own) const {
    if (threadIdx.x == 0) sum[blockIdx.x] = constant + own;
  }
};

// energy [B] = constant + Σ_parts sum. A template, as clang knows no inline kernels.
template <class Number>
__global__ void add_parts_kernel(int64_t chains, int64_t parts, Number constant, const Number* sum,
                                 Number* energy) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= chains) return;
  Number total = 0;
  for (int64_t p = 0; p < parts; ++p) total += sum[p * chains + c];
  energy[c] = constant + total;
}

// energy [B] = constant + what launch(sums) sums; parts [lattice_parts(D), B] where there are several.
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
