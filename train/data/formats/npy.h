// NumPy's .npy files (numpy.lib.format, versions 1 to 3), plain or gzipped. They hold "\x93NUMPY",
// the version, the length of the header, the header, which is a Python literal such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }
// and the bytes of the array.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "io/torch.h"

namespace isinglass {

// Reads an array of a type of numpy_array.h. Throws Error naming the file if it cannot be read, is
// damaged, has another type (in particular Python objects), has no elements, or is larger than 2
// GiB.
torch::Tensor read_npy(const std::filesystem::path& file);

// Reads an array from the bytes of a file; `name` stands for the file in error messages.
torch::Tensor npy_array(std::string_view bytes, const std::string& name);

}  // namespace isinglass
