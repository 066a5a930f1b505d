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

torch::Tensor read_images(const fs::path& file) {
  if (file.extension() == ".pt") return read_tensor(file);
  const DataFormat* format = format_of(file);
  require(fs::exists(fs::status(file)), "{} does not exist", file.string());
  require(format && format->read, "{} is no file of images; these are read: {}", file.string(),
          readable_formats());
  return format->read(file);
}

}  // namespace

Dataset read_own_images(const fs::path& file) {
  return own_images(read_images(file), file.string());
}

Dataset own_images(const torch::Tensor& images, const std::string& name) {
  require((images.dim() == 2 || images.dim() == 3) && images.numel() > 0,
          "{} holds an array of shape [{}]; expected images [N, D] or [N, H, W]", name,
          fmt::join(images.sizes(), ", "));
  require_grey(name, images);
  Dataset data;
  std::tie(data.height, data.width) = image_size(images);
  const torch::Tensor pixels = to_pixels(name, images).reshape({images.size(0), -1});
  data.levels = levels_of(pixels);
  const int64_t held_out = pixels.size(0) / 10;
  split_validation(data, pixels, 2 * held_out);
  data.test = data.validation.narrow(0, held_out, held_out);
  data.validation = data.validation.narrow(0, 0, held_out);
  data.name = name;
  data.source = fmt::format("{}: shuffled with a fixed seed, split 80/10/10", name);
  return data;
}

}  // namespace isinglass
