// Implements the functions that the readers of data sets share.
#include "train/data/readers.h"

#include <fmt/ranges.h>

#include <cmath>

#include "io/error.h"
#include "train/data/batches.h"

namespace isinglass {

namespace fs = std::filesystem;

std::optional<fs::path> find_data_file(const fs::path& folder, const std::string& name) {
  for (const char* suffix : {"", ".gz"}) {
    fs::path file = folder / (name + suffix);
    if (fs::exists(fs::status(file))) return file;
  }
  return std::nullopt;
}

fs::path need_data_file(const fs::path& folder, const std::string& name,
                        const std::string& origin) {
  const std::optional<fs::path> file = find_data_file(folder, name);
  require(file.has_value(),
          "{} (or the same with .gz) is missing; it is a file of {} and must be put there",
          (folder / name).string(), origin);
  return *file;
}

void require_images(const fs::path& file, const torch::Tensor& images, int64_t count,
                    int64_t height, int64_t width) {
  const std::vector<int64_t> flat = {count, height * width}, square = {count, height, width};
  require(images.sizes() == flat || images.sizes() == square,
          "{} holds an array of {}; expected {} images of {}x{}", file.string(),
          fmt::join(images.sizes(), "x"), count, height, width);
}

void require_published(const fs::path& file, const torch::Tensor& pixels, int64_t white,
                       double mean, const std::string& title) {
  constexpr double kTolerance = 0.003;
  const double found = pixels.mean(torch::kFloat64).item<double>() / static_cast<double>(white);
  require(std::abs(found - mean) <= kTolerance,
          "{} is not a file of {}: the mean of its pixels is {:.4f}, but {:.4f} in the published "
          "data. Another data set in this format can be read by the path of its file",
          file.string(), title, found, mean);
}

torch::Tensor shuffled_order(int64_t count) {
  return random_order({.seed = 0, .chain = 0, .step = 0}, Purpose::kSplit, count, count);
}

void split_validation(Dataset& data, const torch::Tensor& images, int64_t validation) {
  const int64_t count = images.size(0);
  const torch::Tensor shuffled = images.index_select(0, shuffled_order(count));
  const int64_t train = count - validation;
  data.train = shuffled.narrow(0, 0, train);
  data.validation = shuffled.narrow(0, train, validation);
}

std::pair<int64_t, int64_t> image_size(const torch::Tensor& images) {
  if (images.dim() == 3) return {images.size(1), images.size(2)};
  const int64_t sites = images.size(1);
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(sites))));
  if (side * side == sites) return {side, side};
  return {1, sites};
}

torch::Tensor grey_levels(const torch::Tensor& values) {
  return (values * 255).round().to(torch::kUInt8);
}

torch::Tensor to_pixels(const fs::path& file, const torch::Tensor& values) {
  if (values.scalar_type() == torch::kUInt8) return values;
  if (values.scalar_type() == torch::kBool) return values.to(torch::kUInt8);
  require(values.is_floating_point(),
          "{} holds values of type {}; expected uint8, bool or real values", file.string(),
          torch::toString(values.scalar_type()));
  require(((values >= 0) & (values <= 1)).all().item<bool>(),
          "{} holds values outside [0, 1] or not a number; real values are grey levels in [0, 1]",
          file.string());
  const bool binary = ((values == 0) | (values == 1)).all().item<bool>();
  return binary ? values.to(torch::kUInt8) : grey_levels(values);
}

PixelValues values_of(const torch::Tensor& pixels) {
  return (pixels <= 1).all().item<bool>() ? PixelValues::kBinary : PixelValues::kGrey;
}

}  // namespace isinglass
