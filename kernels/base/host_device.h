// What the CPU and the CUDA twin of a kernel share: qualifiers, the declaration of both, and the
// type of a stream. No CUDA header is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#if defined(__CUDACC__)
#define ISINGLASS_HD __host__ __device__
#define ISINGLASS_DEVICE __device__  // of code that CUDA sources call on the device only
#else
#define ISINGLASS_HD
#define ISINGLASS_DEVICE
#endif

// Declares both twins of a kernel, cpu::name and cuda::name.
#define ISINGLASS_TWINS(name, ...) \
  namespace cpu {                  \
  void name(__VA_ARGS__);          \
  }                                \
  namespace cuda {                 \
  void name(__VA_ARGS__);          \
  }

struct CUstream_st;

namespace isinglass {
using Stream = CUstream_st*;  // cudaStream_t; ignored by CPU twins

// Before a launch: launchers fit what they ask for to the device (kernels/base/launch.h), so that
// one which asks for more is at fault.
inline void check_shared_memory(size_t bytes, int64_t limit, const char* file, int line) {
  if (static_cast<int64_t>(bytes) > limit) {
    throw std::logic_error("a kernel asks for " + std::to_string(bytes) +
                           " bytes of shared memory, and a block of this GPU has " +
                           std::to_string(limit) + ", at " + file + ":" + std::to_string(line));
  }
}

}  // namespace isinglass
