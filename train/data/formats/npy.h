// NumPy's .npy files (numpy.lib.format, versions 1 to 3), plain or gzipped: "\x93NUMPY", the
// version, the length of a header, the header, a literal of Python such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }
// and the array's bytes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "io/torch.h"

namespace isinglass {

// Types as of numpy_array.h. Throws Error naming the file: unreadable, damaged, of another type (of
// Python's objects, above all), without elements, or larger than 2 GiB.
torch::Tensor read_npy(const std::filesystem::path& file);

// The same of a file's bytes; `name` stands for the file in errors.
torch::Tensor npy_array(std::string_view bytes, const std::string& name);

}  // namespace isinglass
