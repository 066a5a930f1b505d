// Text files of binary images (.amat, plain or gzipped), the format of static MNIST: one image per
// line, with pixels 0 or 1 separated by single spaces.
#pragma once

#include <filesystem>

#include "io/torch.h"

namespace isinglass {

// Returns the images, uint8 [lines, pixels per line]. Throws Error, naming the file and if possible
// the line, if the file cannot be read, is empty, contains a character other than 0, 1 and space,
// or has lines of different lengths.
torch::Tensor read_amat(const std::filesystem::path& file);

}  // namespace isinglass
