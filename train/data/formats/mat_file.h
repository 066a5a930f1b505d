// Numeric arrays of MATLAB 5 files ("MAT-File Format", The MathWorks, chapter 1).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/torch.h"

namespace isinglass {

// A numeric array of the file: the MATLAB class ("double", "uint8", "logical", …) and its sizes.
struct MatArray {
  std::string name, type;
  std::vector<int64_t> shape;
};

// The numeric arrays, in file order. Throws Error naming the file: unreadable, not MATLAB 5 or not
// little-endian, truncated, a corrupt zlib stream, sizes that contradict each other, or a variable
// that is not an array of real numbers or text, or a cell array of those.
std::vector<MatArray> mat_arrays(const std::filesystem::path& file);

// float64, in the shape that MATLAB shows (columns of a matrix are contiguous). Throws Error as
// mat_arrays, and if the file has no numeric array of that name.
torch::Tensor read_mat_array(const std::filesystem::path& file, const std::string& name);

// Images as rows [N, side²], row-major, of a matrix [N, side²] or [side², N] whose images are
// stored column-major: position k is row k % side, column k / side. Throws Error for another shape.
torch::Tensor mat_images(const std::filesystem::path& file, const torch::Tensor& array,
                         int64_t side);

}  // namespace isinglass
