// The registry of file formats, recognised by name or content. Reading a user's own images and
// `inspect` find their reader here.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "train/data/describe.h"
#include "train/data/own_images.h"

namespace isinglass {

struct DataFormat {
  std::string name;  // "IDX"
  // Returns true if the file has the format, judging by its name or its first bytes (at most 10,
  // decompressed; none for a folder).
  std::function<bool(const std::filesystem::path& file, const std::string& start)> recognises;
  // Returns the array in the file; images are [N, D] or [N, H, W]. Throws Error naming the file if
  // it is damaged. Null if the format cannot hold a user's own images or if `read_arrays` reads
  // them.
  std::function<torch::Tensor(const std::filesystem::path& file)> read = nullptr;
  // Describes the file for `inspect`. If it is null, the result of `read` is described.
  std::function<DataFileDescription(const std::filesystem::path& file)> describe = nullptr;
  // Reads all arrays of a format that can hold several.
  std::function<OwnArrays(const std::filesystem::path& file)> read_arrays = nullptr;
  // True for texts of numbers, which may also be the text of a graph or of a quadratic function.
  bool text_of_numbers = false;
};

// Returns the formats of the sources that list.inc names. A file has the first format that
// recognises it.
const std::vector<DataFormat>& data_formats();

// Returns the format of the file or folder of files; null if it has none of these or does not
// exist.
const DataFormat* format_of(const std::filesystem::path& file);

// Returns the names of the formats that can hold a user's own images: ".pt, IDX, …".
std::string readable_formats();

// Returns the array of a file that holds one: NumPy's .npy, or a PyTorch file with one tensor. It
// has the type in which it is stored. Throws Error naming the file.
torch::Tensor read_array(const std::filesystem::path& file);

// Returns true if the name ends in `ending`, or in `ending` followed by .gz.
bool is_named(const std::filesystem::path& file, const std::string& ending);

}  // namespace isinglass
