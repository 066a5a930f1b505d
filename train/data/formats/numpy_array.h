// Conversion of a NumPy array to a tensor from its bytes, as .npy files and pickles hold them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/torch.h"

namespace isinglass {

struct NumpyArray {
  std::string type = {};  // "<f4", "|u1": byte order, kind, bytes per number
  std::vector<int64_t> shape = {};
  bool fortran = false;  // the first dimension varies fastest
  std::string_view bytes = {};
};

// Converts an array of type bool, u1 to u8, i1 to i8, f2, f4 or f8 in either byte order. Unsigned
// numbers of two or more bytes become the next wider signed type (u8 becomes int64). Throws Error
// for other types and if the number of bytes does not match the shape. The error message lacks its
// subject, which the caller adds.
torch::Tensor tensor_of(const NumpyArray& array);

}  // namespace isinglass
