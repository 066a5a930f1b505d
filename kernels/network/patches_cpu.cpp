// CPU twin of patches.h.
#include "kernels/network/patches.h"

namespace isinglass::cpu {

void patches(const PatchShape& shape, const float* image, float* rows, Stream) {
  const auto count = static_cast<uint32_t>(shape.numbers());
  for (uint32_t i = 0; i < count; ++i) patch_numbers<1>(i, shape, image, rows);
}

}  // namespace isinglass::cpu
