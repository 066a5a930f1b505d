// Implements reductions over a warp and over a block of threads (CUDA). launch.h includes it after
// the declarations of the shuffle functions.
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

// Adds the same pairs in the same order as tree_sum() on the CPU, and so returns the same sum of
// the same numbers.
__device__ inline double warp_sum(double v) {
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

__device__ inline double warp_product(double v) {
  for (int offset = 16; offset > 0; offset >>= 1) v *= __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

// Reduces 32 numbers that are held by eight lanes: lane i has the numbers i, i + 8, i + 16 and i +
// 24. The results are bitwise those of warp_sum() and warp_product(), for each group of eight lanes
// of a warp.
__device__ inline double eighth_sum(const double* v) {
  double sum = (v[0] + v[2]) + (v[1] + v[3]);
  for (int offset = 4; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  return sum;
}
// Takes each lane's numbers as two products of two, first = v[0]·v[2] and second = v[1]·v[3].
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

// Returns the sum over a block to all of its threads. The block must consist of whole warps.
__device__ inline double block_sum(double value) {
  __shared__ double of_warp[32];
  value = warp_sum(value);
  __syncthreads();  // Waits because of_warp may still be read by the previous call.
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  double total = 0;
  for (unsigned w = 0; w < (blockDim.x + 31) / 32; ++w) total += of_warp[w];
  return total;
}

constexpr int64_t kTileBlocks = 512;

// Returns the shared memory [bytes] that fold_blocks() needs for any number of blocks.
inline size_t tile_bytes() {
  return kTileBlocks * sizeof(double);
}

// Calls fold(of_block(b)) for b = 0, 1, …, blocks − 1, where each b is a block of 32 sites or
// hidden units. A whole warp evaluates of_block(b), or, if parts > 1, each of `parts` equal parts
// of a warp evaluates a block of its own; then of_block() is also called with b ≥ blocks, and the
// result is ignored. The first thread calls fold() in the order of b. tile [kTileBlocks] is in
// shared memory.
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
    __syncthreads();  // Waits until the tile is read before the next pass overwrites it.
  }
}

}  // namespace cuda
}  // namespace isinglass
#endif
