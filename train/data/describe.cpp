// Implements the description of data files.
#include "train/data/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "train/data/formats/format.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostImages = 64;

std::string type_name(const torch::Tensor& values) {
  return values.scalar_type() == torch::kUInt8 ? "uint8" : torch::toString(values.scalar_type());
}

}  // namespace

DataFileDescription describe_array(std::string format, std::string dtype,
                                   const torch::Tensor& values) {
  DataFileDescription description;
  description.format = std::move(format);
  description.shape = values.sizes().vec();
  description.dtype = std::move(dtype);
  description.min = values.min().item<double>();
  description.max = values.max().item<double>();
  description.mean = values.mean(torch::kFloat64).item<double>();
  description.images = torch::empty({0, 0}, torch::kUInt8);
  return description;
}

void add_images(DataFileDescription& description, const torch::Tensor& images, int64_t height,
                int64_t width) {
  const int64_t shown = std::min(images.size(0), kMostImages);
  description.scale = values_of(images) == PixelValues::kBinary ? 255 : 1;
  description.images = images.narrow(0, 0, shown).reshape({shown, height * width});
  description.height = height;
  description.width = width;
}

DataFileDescription describe_values(std::string format, const fs::path& file,
                                    const torch::Tensor& values) {
  DataFileDescription description = describe_array(std::move(format), type_name(values), values);
  const auto type = values.scalar_type();
  const bool pixels = type == torch::kUInt8 || type == torch::kBool ||
                      (values.is_floating_point() && description.min >= 0 && description.max <= 1);
  if (pixels && (values.dim() == 2 || values.dim() == 3)) {
    const auto [height, width] = image_size(values);
    add_images(description, to_pixels(file, values), height, width);
  }
  return description;
}

DataFileDescription describe_arrays(const std::string& format, const fs::path& file,
                                    const NamedTensors& arrays) {
  const auto& [name, values] = *std::max_element(
      arrays.begin(), arrays.end(),
      [](const auto& a, const auto& b) { return a.second.numel() < b.second.numel(); });
  return describe_values(fmt::format("{}, array '{}'", format, name), file, values);
}

std::optional<DataFileDescription> describe_data_file(const fs::path& file) {
  const DataFormat* format = format_of(file);
  if (!format) return std::nullopt;
  if (format->describe) return format->describe(file);
  return describe_values(format->name, file, format->read(file));
}

}  // namespace isinglass
