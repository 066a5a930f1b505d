#include "io/picture.h"

#include <fmt/ranges.h>
#include <png.h>

#include <algorithm>

#include "io/error.h"
#include "io/files.h"

namespace isinglass {
namespace {

constexpr uint8_t kFrame = 96;  // dark grey, told apart from both binary values

// [N, H·W] as uint8 grey levels on the CPU.
torch::Tensor grey_levels(const torch::Tensor& images, int scale) {
  const torch::Tensor values = images.detach().cpu();
  if (values.is_floating_point()) {
    require((values >= 0).logical_and(values <= 1).all().item<bool>(),
            "a picture's floating-point values must lie in [0, 1]");
    return (values * 255).round().to(torch::kUInt8);
  }
  require(values.scalar_type() == torch::kUInt8, "a picture must be uint8 or floating-point");
  const int64_t largest = values.max().item<int64_t>() * scale;
  require(largest <= 255, "a picture's values times the scale {} reach {}; 255 is white", scale,
          largest);
  return values * scale;
}

// [rows·(H + 1) + 1, columns·(W + 1) + 1]: one frame line before every image and after the last.
torch::Tensor draw_grid(const torch::Tensor& levels, int64_t height, int64_t width,
                        int64_t columns) {
  const int64_t count = levels.size(0), rows = (count + columns - 1) / columns;
  torch::Tensor grid =
      torch::full({rows * (height + 1) + 1, columns * (width + 1) + 1}, kFrame, torch::kUInt8);
  for (int64_t n = 0; n < count; ++n) {
    const int64_t top = n / columns * (height + 1) + 1, left = n % columns * (width + 1) + 1;
    grid.narrow(0, top, height).narrow(1, left, width).copy_(levels[n].view({height, width}));
  }
  return grid;
}

std::string encode_png(const torch::Tensor& grid) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.height = static_cast<png_uint_32>(grid.size(0));
  png.width = static_cast<png_uint_32>(grid.size(1));
  png.format = PNG_FORMAT_GRAY;
  const void* pixels = grid.const_data_ptr<uint8_t>();
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string bytes(size, '\0');
  const int done = png_image_write_to_memory(&png, bytes.data(), &size, 0, pixels, 0, nullptr);
  require(done != 0, "cannot draw a picture of {}x{} pixels: {}", grid.size(1), grid.size(0),
          png.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace

int picture_scale(const torch::Tensor& images) {
  constexpr int kDarkest = 128;
  const int most = std::max(1, images.max().item<int>());
  return most < kDarkest ? 255 / most : 1;
}

std::string picture_grid(const torch::Tensor& images, int64_t height, int64_t width,
                         int64_t columns, int scale) {
  require(height > 0 && width > 0 && columns > 0 && scale > 0,
          "a picture grid needs a positive height, width, number of columns and scale, not {}, {}, "
          "{} and {}",
          height, width, columns, scale);
  require(images.dim() == 2 && images.size(0) > 0 && images.size(1) == height * width,
          "a picture grid of {}x{} images needs a tensor of shape [N, {}], not {}", height, width,
          height * width, images.sizes().vec());
  const torch::Tensor levels = grey_levels(images, scale).contiguous();
  return encode_png(draw_grid(levels, height, width, std::min(columns, images.size(0))));
}

void write_picture_grid(const std::filesystem::path& file, const torch::Tensor& images,
                        int64_t height, int64_t width, int64_t columns, int scale) {
  write_file(file, picture_grid(images, height, width, columns, scale));
}

torch::Tensor read_png(const std::filesystem::path& file) {
  constexpr int64_t kMostPixels = int64_t{1} << 26;
  const std::string bytes = read_file(file);
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  const int begun = png_image_begin_read_from_memory(&png, bytes.data(), bytes.size());
  require(begun != 0, "{} is no PNG image: {}", file.string(), png.message);
  const int64_t height = png.height, width = png.width;
  if (height * width > kMostPixels) {
    png_image_free(&png);
    fail("{} is an image of {}x{} pixels; {} are the most", file.string(), height, width,
         kMostPixels);
  }
  png.format = PNG_FORMAT_GRAY;
  const png_color black = {};
  torch::Tensor pixels = torch::empty({height, width}, torch::kUInt8);
  const int done = png_image_finish_read(&png, &black, pixels.data_ptr<uint8_t>(), 0, nullptr);
  require(done != 0, "{} is a damaged PNG image: {}", file.string(), png.message);
  return pixels;
}

}  // namespace isinglass
