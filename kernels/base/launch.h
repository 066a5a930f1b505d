// Launches every CUDA kernel of this project: on the current device, with error checks and with
// dynamic shared memory. Only this file asks the device for its shared-memory limit, and refuses
// larger requests. A test build replaces this header (tests/simt/shim/) to run the same kernels
// thread by thread on a CPU; therefore no .cu file uses <<<>>> or extern __shared__ of its own.
#pragma once

#include <cuda_runtime.h>

#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/base/host_device.h"
#include "kernels/base/reduce_cuda.h"

// Marks a kernel parameter that is read in place, in the constant memory where the launch stored
// it. Clang 19 does not support this attribute.
#if defined(__CUDACC__) && !defined(__clang__)
#define ISINGLASS_GRID_CONSTANT __grid_constant__
#else
#define ISINGLASS_GRID_CONSTANT
#endif

namespace isinglass {

// Throws runtime_error with the place in the source if a call of the CUDA runtime failed.
inline void check_cuda(cudaError_t code, const char* file, int line) {
  if (code != cudaSuccess) {
    throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(code) + " at " + file +
                             ":" + std::to_string(line));
  }
}

inline int current_device() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), __FILE__, __LINE__);
  return device;
}

// Returns the shared memory [bytes] that a block may use on a device: 64 KiB on compute capability
// 7.5, 96 KiB on 7.0, 163 KiB on 8.0, 227 KiB on 9.0.
inline int64_t shared_memory_limit(int device) {
  int bytes = 0;
  check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             __FILE__, __LINE__);
  return bytes;
}

inline int64_t multiprocessors(int device) {
  int count = 0;
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), __FILE__,
             __LINE__);
  return count;
}

struct LaunchShape {
  unsigned blocks;
  unsigned threads;
  size_t shared_bytes = 0;
};

// Raises a kernel's dynamic shared-memory limit to all that the current device gives a block, minus
// the kernel's static shared variables. CUDA requires this once per kernel and device. Thread-safe.
inline void allow_shared_memory(const void* kernel, size_t bytes, const char* file, int line) {
  const int device = current_device();
  const int64_t limit = shared_memory_limit(device);
  check_shared_memory(bytes, limit, file, line);
  static std::mutex mutex;
  static std::set<std::pair<const void*, int>> allowed;
  const std::lock_guard<std::mutex> lock(mutex);
  if (allowed.count({kernel, device})) return;
  cudaFuncAttributes own{};
  check_cuda(cudaFuncGetAttributes(&own, kernel), file, line);
  check_cuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(limit - static_cast<int64_t>(own.sharedSizeBytes))),
      file, line);
  allowed.insert({kernel, device});
}

template <class... Parameters, class... Arguments>
void launch_kernel(const char* file, int line, void (*kernel)(Parameters...), LaunchShape shape,
                   Stream stream, Arguments&&... arguments) {
  if (shape.blocks == 0) return;
  // Without allow_shared_memory() a kernel has 48 KiB, its static variables included.
  if (shape.shared_bytes > 47 * 1024) {
    allow_shared_memory(reinterpret_cast<const void*>(kernel), shape.shared_bytes, file, line);
  }
  kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(arguments...);
  check_cuda(cudaGetLastError(), file, line);
}

// Use: ISINGLASS_LAUNCH(kernel, {blocks, threads, shared_bytes}, stream, arguments…)
#define ISINGLASS_LAUNCH(...) ::isinglass::launch_kernel(__FILE__, __LINE__, __VA_ARGS__)

#if defined(__CUDACC__)
template <class T>
__device__ inline T* dynamic_shared_memory() {
  // The alignment allows vector types and 16-byte copies.
  extern __shared__ __align__(16) double isinglass_shared[];
  return reinterpret_cast<T*>(isinglass_shared);
}
#endif

}  // namespace isinglass
