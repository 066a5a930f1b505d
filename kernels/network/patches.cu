// CUDA twin of patches.h: a thread for four channels of a tap, or one.
#include "kernels/base/launch.h"
#include "kernels/network/patches.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256;

template <int kWide>
__global__ void patches_kernel(PatchShape shape, uint32_t count, const float* image, float* rows) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) patch_numbers<kWide>(i, shape, image, rows);
}

template <int kWide>
void launch(const PatchShape& shape, const float* image, float* rows, Stream stream) {
  const auto count = static_cast<uint32_t>(shape.numbers() / kWide);
  const LaunchShape launch = {(count + kThreads - 1) / kThreads, kThreads};
  ISINGLASS_LAUNCH(patches_kernel<kWide>, launch, stream, shape, count, image, rows);
}

}  // namespace

void patches(const PatchShape& shape, const float* image, float* rows, Stream stream) {
  shape.channels % 4 == 0 ? launch<4>(shape, image, rows, stream)
                          : launch<1>(shape, image, rows, stream);
}

}  // namespace isinglass::cuda
