// See patches.h.
#include "kernels/ops/patches.h"

#include <limits>

#include "kernels/network/patches.h"
#include "kernels/ops/check.h"

namespace isinglass::ops {

void patches(const Tensor& images, int64_t stride, Tensor& rows) {
  TORCH_CHECK(images.dim() == 4 && images.scalar_type() == torch::kFloat32 &&
                  images.is_contiguous(at::MemoryFormat::ChannelsLast),
              "isinglass operator: patches are of images, float32 [B, C, H, W], channels-last");
  TORCH_CHECK(stride >= 1, "isinglass operator: patches have a stride of at least 1");
  const PatchShape shape{images.size(0), images.size(2), images.size(3), images.size(1), stride};
  TORCH_CHECK(shape.numbers() <= std::numeric_limits<uint32_t>::max() - 256,
              "isinglass operator: patches are of fewer than 2^32 numbers");
  check(rows, images, torch::kFloat32, shape.numbers(), "rows");
  run_twin(
      images, [](auto... a) { cpu::patches(a...); }, [](auto... a) { cuda::patches(a...); }, shape,
      static_cast<const float*>(data<float>(images)), data<float>(rows));
}

namespace {

void patches_op(const Tensor& images, int64_t stride, Tensor rows) {
  patches(images, stride, rows);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(isinglass, m) {
  m.def("patches(Tensor images, int stride, Tensor(a!) rows) -> ()", on_all_devices(patches_op));
}

}  // namespace isinglass::ops
