// Holds what the CPU and the CUDA version of a kernel share: qualifiers, the declaration of both
// versions, and the stream type. It needs no CUDA header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#if defined(__CUDACC__)
#define ISINGLASS_HD __host__ __device__
#define ISINGLASS_DEVICE __device__  // Marks code that CUDA sources call only on the device.
#else
#define ISINGLASS_HD
#define ISINGLASS_DEVICE
#endif

// Declares both versions of a kernel, cpu::name and cuda::name.
#define ISINGLASS_TWINS(name, ...) \
  namespace cpu {                  \
  void name(__VA_ARGS__);          \
  }                                \
  namespace cuda {                 \
  void name(__VA_ARGS__);          \
  }

struct CUstream_st;

namespace isinglass {
using Stream = CUstream_st*;  // This is cudaStream_t; the CPU versions ignore it.

// Throws std::logic_error if a kernel requests more shared memory than `limit`. Launchers choose
// their requests to fit the device (kernels/base/launch.h), so that a larger one is a bug.
inline void check_shared_memory(size_t bytes, int64_t limit, const char* file, int line) {
  if (static_cast<int64_t>(bytes) > limit) {
    throw std::logic_error("a kernel asks for " + std::to_string(bytes) +
                           " bytes of shared memory, but a block of this GPU has " +
                           std::to_string(limit) + ", at " + file + ":" + std::to_string(line));
  }
}

}  // namespace isinglass
