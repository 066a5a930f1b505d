// SHA-256 (FIPS 180-4; computed by Nettle) of what identifies a computation, as 64 hexadecimal
// digits. Of tensors it is the hash of, for every tensor in the order of the names,
//
//   name NUL type NUL shape NUL elements
//
// where the type is PyTorch's name ("float32"), the shape is decimal numbers between commas, and
// the elements are in row-major order, as the machine holds them (little endian). It depends on the
// tensors alone: not on their order, strides or device, nor on the file that holds them.
#pragma once

#include <string>
#include <string_view>

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass {

std::string sha256(std::string_view bytes);
std::string sha256(NamedTensors tensors);

// "float32", as PyTorch calls the type in Python.
std::string dtype_name(torch::ScalarType type);

}  // namespace isinglass
