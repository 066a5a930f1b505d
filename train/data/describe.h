// Describes the contents of a data file, for `isinglass inspect`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass {

struct DataFileDescription {
  std::string format;          // "IDX", ".amat text", "MATLAB 5, array 'train_data'"
  std::vector<int64_t> shape;  // as stored
  std::string dtype;           // as stored: "uint8", "double", …
  double min, max, mean;       // as stored
  // The first n ≤ 64 images, uint8 [n, height·width]; [0, 0] if the values are not images.
  torch::Tensor images;
  int64_t height = 0, width = 0;
  int scale = 255;  // scale of a picture of `images` (io/picture.h)
};

// Describes a file of a known format (formats/format.h); of a file with several arrays it describes
// the largest numeric one. Returns nullopt for any other file or directory, or if there is no file.
// Throws Error if the file has a known format and is corrupt.
std::optional<DataFileDescription> describe_data_file(const std::filesystem::path& file);

// Describes the size and range of an array, without images.
DataFileDescription describe_array(std::string format, std::string dtype,
                                   const torch::Tensor& values);

// Describes an array as describe_array() does, and adds images if the values are pixels [N, D] or
// [N, H, W].
DataFileDescription describe_values(std::string format, const std::filesystem::path& file,
                                    const torch::Tensor& values);

// Describes the largest of several arrays and gives its name.
DataFileDescription describe_arrays(const std::string& format, const std::filesystem::path& file,
                                    const NamedTensors& arrays);

// Adds images, uint8 [N, height·width] or [N, height, width].
void add_images(DataFileDescription& description, const torch::Tensor& images, int64_t height,
                int64_t width);

}  // namespace isinglass
