// Computes SHA-256 (FIPS 180-4; by Nettle), as 64 hexadecimal digits, to identify computations. The
// hash of tensors is that of the concatenation, over all tensors in the order of their names, of
//
//   name NUL type NUL shape NUL elements
//
// where the type is PyTorch's name ("float32"), the shape is decimal numbers separated by commas,
// and the elements are in row-major order as they are in memory (little endian). It depends on the
// tensors only: not on their order, strides or device, nor on the file that holds them.
#pragma once

#include <string>
#include <string_view>

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass {

std::string sha256(std::string_view bytes);
std::string sha256(NamedTensors tensors);

// Returns the type's name in Python, for example "float32".
std::string dtype_name(torch::ScalarType type);

}  // namespace isinglass
