// Reductions over a warp and over a block of threads: CUDA twins. Included by launch.h, after
// whatever declares the shuffles.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__) || defined(ISINGLASS_SIMT)
namespace isinglass {

__device__ inline double warp_max(double v) {
  for (int offset = 16; offset > 0; offset >>= 1)
    v = fmax(v, __shfl_xor_sync(0xffffffffu, v, offset));
  return v;
}

// The same pairs in the same order as tree_sum() on the CPU: the same sum of the same numbers.
__device__ inline double warp_sum(double v) {
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

__device__ inline double warp_product(double v) {
  for (int offset = 16; offset > 0; offset >>= 1) v *= __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

// Over 32 numbers of which eight lanes have four each, those of i, i + 8, i + 16 and i + 24: the sum of
// warp_sum() and the product of warp_product(), for each eight of a warp.
__device__ inline double eighth_sum(const double* v) {
  double sum = (v[0] + v[2]) + (v[1] + v[3]);
  for (int offset = 4; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  return sum;
}
// The product where the lanes have multiplied their own numbers, by twos.
__device__ inline double eighth_product(double first, double second) {
  double product = first * second;
  for (int offset = 4; offset > 0; offset >>= 1) {
    product *= __shfl_xor_sync(0xffffffffu, product, offset);
  }
  return product;
}
__device__ inline double eighth_product(const double* v) {
  return eighth_product(v[0] * v[2], v[1] * v[3]);
}

namespace cuda {

// The sum over a block of whole warps, for all of its threads.
__device__ inline double block_sum(double value) {
  __shared__ double of_warp[32];
  value = warp_sum(value);
  __syncthreads();  // of_warp may still be read from the last call
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  double total = 0;
  for (unsigned w = 0; w < (blockDim.x + 31) / 32; ++w) total += of_warp[w];
  return total;
}

constexpr int64_t kTileBlocks = 512;

// Bytes of shared memory that fold_blocks() needs, however many blocks there are.
inline size_t tile_bytes() {
  return kTileBlocks * sizeof(double);
}

// fold(of_block(b)) for b = 0, 1, … of so many blocks of 32 sites, or units: of_block by whole
// warps, or of `parts` blocks side by side by as many parts of a warp, which come for blocks that
// are not there, too; fold by the first thread in that order. tile [kTileBlocks] is shared.
template <int parts = 1, class OfBlock, class Fold>
__device__ void fold_blocks(int64_t blocks, double* tile, OfBlock of_block, Fold fold) {
  constexpr int kLanes = 32 / parts;
  const int part = threadIdx.x % 32 / kLanes;
  const int64_t own = threadIdx.x / 32 * parts, all = blockDim.x / 32 * parts;
  for (int64_t first = 0; first < blocks; first += kTileBlocks) {
    const int64_t end = first + kTileBlocks < blocks ? first + kTileBlocks : blocks;
    for (int64_t b = first + own; b < end; b += all) {
      const double value = of_block(b + part);
      if (threadIdx.x % kLanes == 0 && b + part < end) tile[b + part - first] = value;
    }
    __syncthreads();
    for (int64_t b = first; b < end && threadIdx.x == 0; ++b) fold(tile[b - first]);
    __syncthreads();  // before the tile is overwritten
  }
}

}  // namespace cuda
}  // namespace isinglass
#endif
