// IDX files (the format of MNIST), plain or gzipped: two zero bytes, the element type (8 = unsigned
// byte, the only one read here), the number d of dimensions, d sizes as 32-bit big-endian integers,
// then the elements, last dimension fastest.
#pragma once

#include <filesystem>

#include "io/torch.h"

namespace isinglass {

// uint8, shaped as the file says (images: [N, H, W]). Throws Error naming the file: unreadable,
// wrong magic or element type, no elements, or a size that differs from what the header announces.
torch::Tensor read_idx(const std::filesystem::path& file);

}  // namespace isinglass
