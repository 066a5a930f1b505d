// IDX files (the format of MNIST), plain or gzipped. They hold two zero bytes, the element type (8
// = unsigned byte, the only one that is read here), the number d of dimensions, d sizes as 32-bit
// big-endian integers, and then the elements, last dimension fastest.
#pragma once

#include <filesystem>

#include "io/torch.h"

namespace isinglass {

// Returns the elements, uint8, in the shape that the file states (images: [N, H, W]). Throws Error
// naming the file if it cannot be read, has a wrong magic number or element type, has no elements,
// or has a size that differs from the one in the header.
torch::Tensor read_idx(const std::filesystem::path& file);

}  // namespace isinglass
