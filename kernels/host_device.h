// What the CPU and the CUDA twin of a kernel share needs one qualifier and one stream type; neither
// drags in a CUDA header.
#pragma once

#if defined(__CUDACC__)
#define ISINGLASS_HD __host__ __device__
#else
#define ISINGLASS_HD
#endif

struct CUstream_st;

namespace isinglass {
using Stream = CUstream_st*;  // cudaStream_t; ignored by CPU twins

// Whether a loop over this many numbers is worth waking the other threads for (some 10 µs).
inline bool worth_threads(long numbers) {
  return numbers >= 1 << 14;
}
}  // namespace isinglass
