// Text files of binary images (.amat, plain or gzipped), the format of static MNIST: an image a
// line, its pixels 0 or 1 separated by single spaces.
#pragma once

#include <filesystem>

#include "io/torch.h"

namespace isinglass {

// uint8 [lines, pixels of a line]. Throws Error naming the file, and the line where there is one:
// unreadable, empty, another character than 0, 1 and spaces, lines of different lengths.
torch::Tensor read_amat(const std::filesystem::path& file);

}  // namespace isinglass
