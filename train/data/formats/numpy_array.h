// The numbers of a NumPy array from its bytes, as .npy files and pickles hold them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/torch.h"

namespace isinglass {

struct NumpyArray {
  std::string type = {};  // "<f4", "|u1": order of bytes, kind, bytes of a number
  std::vector<int64_t> shape = {};
  bool fortran = false;  // the first dimension runs fastest
  std::string_view bytes = {};
};

// Types bool, u1 to u8, i1 to i8, f2, f4 and f8 in either order of bytes; unsigned numbers of two
// bytes or more become the next wider signed ones. Throws Error whose sentence lacks its subject,
// for other types, and for bytes that are more or fewer than the shape needs.
torch::Tensor tensor_of(const NumpyArray& array);

}  // namespace isinglass
