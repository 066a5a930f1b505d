// What the CPU and the CUDA twin of a kernel share needs one qualifier and one stream type; neither
// drags in a CUDA header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#if defined(__CUDACC__)
#define ISINGLASS_HD __host__ __device__
#else
#define ISINGLASS_HD
#endif

struct CUstream_st;

namespace isinglass {
using Stream = CUstream_st*;  // cudaStream_t; ignored by CPU twins

// Before a launch: launchers fit what they ask for to the device (kernels/base/launch.h), so that one
// which asks for more is at fault.
inline void check_shared_memory(size_t bytes, int64_t limit, const char* file, int line) {
  if (static_cast<int64_t>(bytes) > limit) {
    throw std::logic_error("a kernel asks for " + std::to_string(bytes) +
                           " bytes of shared memory, and a block of this GPU has " +
                           std::to_string(limit) + ", at " + file + ":" + std::to_string(line));
  }
}

// Whether a loop over this many numbers is worth waking the other threads for (some 10 µs).
inline bool worth_threads(long numbers) {
  return numbers >= 1 << 14;
}
}  // namespace isinglass
