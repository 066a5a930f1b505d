// Tensors of patches.h.
#pragma once

#include "io/torch.h"

namespace isinglass::ops {

// The 3×3 patches of images, float32 [B, C, H, W], channels-last, into rows, float32 [B·H'·W', 9·C].
void patches(const torch::Tensor& images, int64_t stride, torch::Tensor& rows);

}  // namespace isinglass::ops
