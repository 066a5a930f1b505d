// Computes swish with its slope, and the backward product (CUDA version of swish.h).
//
// Regime: one thread per number, in blocks of 256; no shared memory. It serves the layers of
// residual networks on a GPU, for any count; swish_cpu.cpp serves the CPU.
#include "kernels/base/launch.h"
#include "kernels/network/swish.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256;

template <class T>
__global__ void swish_kernel(int64_t count, const float* a, const float* b, float* y, T* slope) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) swish_number(i, a, b, y, slope);
}

template <class T>
__global__ void swish_backward_kernel(int64_t count, const T* g, const T* h, const T* slope,
                                      T* out) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) swish_backward_number(i, g, h, slope, out);
}

LaunchShape launch_shape(int64_t count) {
  return {static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads};
}

}  // namespace

void swish(int64_t count, const float* a, const float* b, float* y, float* slope, Stream stream) {
  ISINGLASS_LAUNCH(swish_kernel<float>, launch_shape(count), stream, count, a, b, y, slope);
}
void swish(int64_t count, const float* a, const float* b, float* y, Bfloat16* slope,
           Stream stream) {
  ISINGLASS_LAUNCH(swish_kernel<Bfloat16>, launch_shape(count), stream, count, a, b, y, slope);
}
void swish_backward(int64_t count, const float* g, const float* h, const float* slope, float* out,
                    Stream stream) {
  ISINGLASS_LAUNCH(swish_backward_kernel<float>, launch_shape(count), stream, count, g, h, slope,
                   out);
}
void swish_backward(int64_t count, const Bfloat16* g, const Bfloat16* h, const Bfloat16* slope,
                    Bfloat16* out, Stream stream) {
  ISINGLASS_LAUNCH(swish_backward_kernel<Bfloat16>, launch_shape(count), stream, count, g, h, slope,
                   out);
}

}  // namespace isinglass::cuda
