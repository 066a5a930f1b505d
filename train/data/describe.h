// What is in a data file: for `isinglass inspect`.
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
  torch::Tensor images;        // uint8 [n ≤ 64, height·width], the first ones; [0, 0] if not images
  int64_t height = 0, width = 0;
  int scale = 255;  // of a picture of `images` (io/picture.h)
};

// Describes a file of a known format (formats/format.h), of one with several arrays its largest
// numeric one; nullopt for any other file or directory, or no file at all. Throws Error if the file
// is one of these and corrupt.
std::optional<DataFileDescription> describe_data_file(const std::filesystem::path& file);

// The size and range of an array, without images.
DataFileDescription describe_array(std::string format, std::string dtype,
                                   const torch::Tensor& values);

// The same with images, where the values are pixels [N, D] or [N, H, W].
DataFileDescription describe_values(std::string format, const std::filesystem::path& file,
                                    const torch::Tensor& values);

// Describes the largest of several arrays, by its name.
DataFileDescription describe_arrays(const std::string& format, const std::filesystem::path& file,
                                    const NamedTensors& arrays);

// images: uint8 [N, height·width] or [N, height, width]
void add_images(DataFileDescription& description, const torch::Tensor& images, int64_t height,
                int64_t width);

}  // namespace isinglass
