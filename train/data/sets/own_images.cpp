// A user's own images, [N, D] or [N, H, W]: in memory, or one .pt tensor, or one file of a known
// format.
#include <fmt/ranges.h>

#include <tuple>

#include "io/error.h"
#include "io/pt/pt_file.h"
#include "train/data/formats/format.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

// Whole numbers 0 … 15, say, would be nearly black as grey levels of 255.
void require_grey(const std::string& name, const torch::Tensor& images) {
  constexpr int64_t kDarkest = 128;
  if (images.scalar_type() != torch::kUInt8) return;
  const int64_t most = images.max().item<int64_t>();
  require(most <= 1 || most >= kDarkest,
          "{} holds whole numbers up to {}; expected 0 and 1, or grey levels whose largest is at "
          "least {} of 255. Divided by {}, as real values, they are grey levels from 0 to 1",
          name, most, kDarkest, most);
}

// Whole numbers 0 … levels − 1 as uint8.
torch::Tensor categories_of(const std::string& name, const torch::Tensor& images, int64_t levels) {
  const bool whole = at::isIntegralType(images.scalar_type(), /*includeBool=*/true);
  require(whole, "{} holds values of type {}; categories are whole numbers", name,
          torch::toString(images.scalar_type()));
  const torch::Tensor values = images.to(torch::kInt64);
  const auto least = values.min().item<int64_t>(), most = values.max().item<int64_t>();
  require_options(least >= 0 && most < levels,
                  "`levels` is {}, for categories 0 to {}; {} holds whole numbers from {} to {}",
                  levels, levels - 1, name, least, most);
  return values.to(torch::kUInt8);
}

torch::Tensor read_images(const fs::path& file) {
  if (file.extension() == ".pt") return read_tensor(file);
  const DataFormat* format = format_of(file);
  require(fs::exists(fs::status(file)), "{} does not exist", file.string());
  require(format && format->read, "{} is no file of images; these are read: {}", file.string(),
          readable_formats());
  return format->read(file);
}

}  // namespace

Dataset read_own_images(const fs::path& file, std::optional<int64_t> levels) {
  return own_images(read_images(file), file.string(), levels);
}

Dataset own_images(const torch::Tensor& images, const std::string& name,
                   std::optional<int64_t> levels) {
  require((images.dim() == 2 || images.dim() == 3) && images.numel() > 0,
          "{} holds an array of shape [{}]; expected images [N, D] or [N, H, W]", name,
          fmt::join(images.sizes(), ", "));
  Dataset data;
  std::tie(data.height, data.width) = image_size(images);
  torch::Tensor pixels;
  if (levels) {
    pixels = categories_of(name, images, *levels);
    data.values = PixelValues::kCategorical;
    data.categories = *levels;
  } else {
    require_grey(name, images);
    pixels = to_pixels(name, images);
    data.values = values_of(pixels);
  }
  pixels = pixels.reshape({images.size(0), -1});
  const int64_t held_out = pixels.size(0) / 10;
  split_validation(data, pixels, 2 * held_out);
  data.test = data.validation.narrow(0, held_out, held_out);
  data.validation = data.validation.narrow(0, 0, held_out);
  data.name = name;
  data.source = fmt::format("{}: shuffled with a fixed seed, split 80/10/10", name);
  return data;
}

}  // namespace isinglass
