// The one way a CUDA kernel of this project is launched, checked and given dynamic shared memory.
// A test build replaces this header (tests/simt/shim/) to run the same kernels thread by thread on
// a CPU; therefore no .cu file uses <<<>>> or extern __shared__ of its own.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "kernels/host_device.h"
#include "kernels/warp.h"

namespace isinglass {

inline void check_cuda(cudaError_t code, const char* file, int line) {
  if (code != cudaSuccess) {
    throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(code) + " at " + file +
                             ":" + std::to_string(line));
  }
}

struct LaunchShape {
  unsigned blocks;
  unsigned threads;
  size_t shared_bytes = 0;
};

template <class... Parameters, class... Arguments>
void launch_kernel(const char* file, int line, void (*kernel)(Parameters...), LaunchShape shape,
                   Stream stream, Arguments&&... arguments) {
  if (shape.blocks == 0) return;
  if (shape.shared_bytes > 48 * 1024) {
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shape.shared_bytes)),
               file, line);
  }
  kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(arguments...);
  check_cuda(cudaGetLastError(), file, line);
}

// ISINGLASS_LAUNCH(kernel, {blocks, threads, shared_bytes}, stream, arguments…)
#define ISINGLASS_LAUNCH(...) ::isinglass::launch_kernel(__FILE__, __LINE__, __VA_ARGS__)

#if defined(__CUDACC__)
template <class T>
__device__ inline T* dynamic_shared_memory() {
  extern __shared__ double isinglass_shared[];
  return reinterpret_cast<T*>(isinglass_shared);
}
#endif

}  // namespace isinglass
