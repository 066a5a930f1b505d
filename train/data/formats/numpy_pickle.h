// A NumPy array of bytes in a pickle of protocol 0, which Python 2 wrote by default: text, an opcode a
// line or a character. The array stands alone or is the one element of a list, as in freyfaces.pkl.
// Nothing that a pickle names is called: the three names of an array are known, others are refused.
#pragma once

#include <filesystem>

#include "io/torch.h"

namespace isinglass {

// uint8, of the array's shape. Throws Error naming the file if it holds anything else or is damaged.
torch::Tensor read_numpy_pickle(const std::filesystem::path& file);

}  // namespace isinglass
