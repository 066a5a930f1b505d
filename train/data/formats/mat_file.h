// Numeric arrays of MATLAB 5 files ("MAT-File Format", The MathWorks, chapter 1).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/torch.h"

namespace isinglass {

// Describes a numeric array of the file: its MATLAB class ("double", "uint8", "logical", …) and
// sizes.
struct MatArray {
  std::string name, type;
  std::vector<int64_t> shape;
};

// Returns the numeric arrays, in file order. Throws Error naming the file if it cannot be read, is
// not a little-endian MATLAB 5 file, is truncated, has a corrupt zlib stream or contradictory
// sizes, or holds a variable that is not an array of real numbers or text, or a cell array of
// these.
std::vector<MatArray> mat_arrays(const std::filesystem::path& file);

// Returns an array as float64, in the shape that MATLAB shows (the columns of a matrix are
// contiguous). Throws Error as mat_arrays() does, and if the file has no numeric array of that
// name.
torch::Tensor read_mat_array(const std::filesystem::path& file, const std::string& name);

// Returns images as rows [N, side²], row-major, from a matrix [N, side²] or [side², N] whose images
// are stored column-major: position k is row k % side, column k / side. Throws Error for another
// shape.
torch::Tensor mat_images(const std::filesystem::path& file, const torch::Tensor& array,
                         int64_t side);

}  // namespace isinglass
