// A user's own images: one .pt tensor or one IDX file (plain or gzipped), [N, D] or [N, H, W].
#include <fmt/ranges.h>

#include <cmath>
#include <tuple>

#include "io/error.h"
#include "io/pt/pt_file.h"
#include "train/data/formats/idx.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

// Height and width of an image: as the array has them; a flat one is a square where D is a square
// number, else a single row.
std::pair<int64_t, int64_t> image_size(const torch::Tensor& images) {
  if (images.dim() == 3) return {images.size(1), images.size(2)};
  const int64_t sites = images.size(1);
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(sites))));
  if (side * side == sites) return {side, side};
  return {1, sites};
}

// Whole numbers 0 … 15, say, would be nearly black as grey levels of 255.
void require_grey(const fs::path& file, const torch::Tensor& images) {
  constexpr int64_t kDarkest = 128;
  if (images.scalar_type() != torch::kUInt8) return;
  const int64_t most = images.max().item<int64_t>();
  require(most <= 1 || most >= kDarkest,
          "{} holds whole numbers up to {}; expected 0 and 1, or grey levels whose largest is at "
          "least {} of 255. Divided by {}, as real values, they are grey levels from 0 to 1",
          file.string(), most, kDarkest, most);
}

}  // namespace

Dataset read_own_images(const fs::path& file) {
  const bool pt = file.extension() == ".pt";
  const torch::Tensor images = pt ? read_tensor(file) : read_idx(file);
  require((images.dim() == 2 || images.dim() == 3) && images.numel() > 0,
          "{} holds an array of shape [{}]; expected images [N, D] or [N, H, W]", file.string(),
          fmt::join(images.sizes(), ", "));
  require_grey(file, images);
  Dataset data;
  std::tie(data.height, data.width) = image_size(images);
  const torch::Tensor pixels = to_pixels(file, images).reshape({images.size(0), -1});
  data.levels = levels_of(pixels);
  const int64_t held_out = pixels.size(0) / 10;
  split_validation(data, pixels, 2 * held_out);
  data.test = data.validation.narrow(0, held_out, held_out);
  data.validation = data.validation.narrow(0, 0, held_out);
  data.source = fmt::format("{}: shuffled with a fixed seed, split 80/10/10", file.string());
  return data;
}

}  // namespace isinglass
