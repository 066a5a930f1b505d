// Implements picture grids with libpng's simplified interface, and a PNG reader.
#include "io/picture.h"

#include <fmt/ranges.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "io/error.h"
#include "io/files.h"

namespace isinglass {
namespace {

constexpr uint8_t kFrame = 96;      // dark grey, distinct from both binary values
constexpr int64_t kLeastSide = 28;  // of the longer side of an image in a grid [pixels]

// Returns images [N, H·W] as uint8 grey levels on the CPU.
torch::Tensor grey_levels(const torch::Tensor& images, int scale) {
  const torch::Tensor values = images.detach().cpu();
  if (values.is_floating_point()) {
    require((values >= 0).logical_and(values <= 1).all().item<bool>(),
            "a picture's floating-point values must lie in [0, 1]");
    return (values * 255).round().to(torch::kUInt8);
  }
  require(values.scalar_type() == torch::kUInt8, "a picture must be uint8 or floating-point");
  const int64_t largest = values.max().item<int64_t>() * scale;
  require(largest <= 255,
          "a picture's values times the scale {} reach {}; at most 255 (white) is allowed", scale,
          largest);
  return values * scale;
}

// Returns images [N, H·W] as [N, H·k, W·k], where every pixel is a square of k×k pixels, with the
// smallest k that makes their longer side at least kLeastSide.
torch::Tensor enlarged(const torch::Tensor& levels, int64_t height, int64_t width) {
  const int64_t side = std::max(height, width), factor = (kLeastSide + side - 1) / side;
  const torch::Tensor images = levels.view({-1, height, width});
  if (factor == 1) return images;
  return images.repeat_interleave(factor, 1).repeat_interleave(factor, 2);
}

// Returns the grid [rows·(H + 1) + 1, columns·(W + 1) + 1], with one frame line before every image
// and after the last, of images [N, H, W].
torch::Tensor draw_grid(const torch::Tensor& images, int64_t columns) {
  const int64_t height = images.size(1), width = images.size(2);
  const int64_t count = images.size(0), rows = (count + columns - 1) / columns;
  torch::Tensor grid =
      torch::full({rows * (height + 1) + 1, columns * (width + 1) + 1}, kFrame, torch::kUInt8);
  for (int64_t n = 0; n < count; ++n) {
    const int64_t top = n / columns * (height + 1) + 1, left = n % columns * (width + 1) + 1;
    grid.narrow(0, top, height).narrow(1, left, width).copy_(images[n]);
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
  return encode_png(draw_grid(enlarged(levels, height, width), std::min(columns, images.size(0))));
}

void write_picture_grid(const std::filesystem::path& file, const torch::Tensor& images,
                        int64_t height, int64_t width, int64_t columns, int scale) {
  write_file(file, picture_grid(images, height, width, columns, scale));
}

namespace {

// Decodes a PNG file with libpng, which leaves a failing function by longjmp. Therefore no object
// with a destructor may be created between begin() or rows() and libpng's own functions.
class PngDecoder {
 public:
  explicit PngDecoder(std::string_view bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    require(info_ != nullptr, "libpng cannot be started");
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  // Reads the header; returns false if that fails. Samples are converted to 8 bits, palettes to
  // colours, and transparent colours to an alpha channel.
  bool begin() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, on_read);
    png_read_info(png_, info_);
    png_set_expand(png_);
    png_set_scale_16(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  int64_t height() const { return png_get_image_height(png_, info_); }
  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t channels() const { return png_get_channels(png_, info_); }

  // Decodes the image into uint8 [height, width, channels]; returns false if that fails.
  bool rows(uint8_t* pixels) {
    const auto stride = static_cast<size_t>(width() * channels());
    if (png_get_rowbytes(png_, info_) != stride) return false;
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    for (int pass = 0; pass < passes_; ++pass) {
      for (int64_t row = 0; row < height(); ++row) {
        png_read_row(png_, pixels + static_cast<size_t>(row) * stride, nullptr);
      }
    }
    png_read_end(png_, nullptr);
    return true;
  }

  const char* message() const { return message_; }

 private:
  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::strncpy(self->message_, message, sizeof(self->message_) - 1);
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_read(png_structp png, png_bytep out, size_t count) {
    std::string_view& rest = static_cast<PngDecoder*>(png_get_io_ptr(png))->rest_;
    if (count > rest.size()) png_error(png, "it ends too early");
    std::memcpy(out, rest.data(), count);
    rest.remove_prefix(count);
  }

  std::string_view rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  char message_[128] = {};
};

}  // namespace

torch::Tensor read_png(const std::filesystem::path& file) {
  constexpr int64_t kMostPixels = int64_t{1} << 26;
  const std::string bytes = read_file(file);
  PngDecoder png(bytes);
  require(png.begin(), "{} is not a PNG image: {}", file.string(), png.message());
  require(png.height() * png.width() <= kMostPixels,
          "{} is an image of {}x{} pixels; at most {} are allowed", file.string(), png.height(),
          png.width(), kMostPixels);
  torch::Tensor pixels = torch::empty({png.height(), png.width(), png.channels()}, torch::kUInt8);
  require(png.rows(pixels.data_ptr<uint8_t>()), "{} is a damaged PNG image: {}", file.string(),
          png.message());
  const int64_t channels = pixels.size(2), colours = channels < 3 ? 1 : 3;
  if (channels != colours) {
    require((pixels.select(2, colours) == 255).all().item<bool>(),
            "{} has transparent pixels, which have no grey level; place the image on an opaque "
            "background first",
            file.string());
  }
  if (colours == 1) return pixels.select(2, 0).contiguous();
  // The weights are 0.299, 0.587 and 0.114 times 65536, by which the result agrees with other
  // readers to the last bit.
  const torch::Tensor weights = torch::tensor({19595, 38470, 7471}, torch::kInt32);
  const torch::Tensor luma = (pixels.narrow(2, 0, 3).to(torch::kInt32) * weights).sum(2);
  return torch::bitwise_right_shift(luma + 32768, 16).to(torch::kUInt8);
}

}  // namespace isinglass
