#include "train/data/describe.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

#include "io/error.h"
#include "train/data/formats/amat.h"
#include "train/data/formats/idx.h"
#include "train/data/formats/mat_file.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostImages = 64, kSide = 28;

// The first bytes, gunzipped where the file is a gzip file; what a corrupt one yields, maybe none.
std::string first_bytes(const fs::path& file, unsigned count) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose);
  std::string bytes(count, '\0');
  const int got = in ? gzread(in.get(), bytes.data(), count) : 0;
  bytes.resize(std::max(got, 0));
  return bytes;
}

bool has_name_of(const fs::path& file, const std::string& format) {
  const std::string name = file.filename().string();
  return name.ends_with(format) || name.ends_with(format + ".gz");
}

DataFileDescription describe(std::string format, std::string dtype, const torch::Tensor& values) {
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

// images: uint8 [N, height·width] or [N, height, width]
void add_images(DataFileDescription& description, const torch::Tensor& images, int64_t height,
                int64_t width) {
  const int64_t shown = std::min(images.size(0), kMostImages);
  description.levels = levels_of(images);
  description.images = images.narrow(0, 0, shown).reshape({shown, height * width});
  description.height = height;
  description.width = width;
}

DataFileDescription describe_idx(const fs::path& file) {
  const torch::Tensor values = read_idx(file);
  DataFileDescription description = describe("IDX", "uint8", values);
  if (values.dim() == 3) add_images(description, values, values.size(1), values.size(2));
  return description;
}

DataFileDescription describe_amat(const fs::path& file) {
  const torch::Tensor values = read_amat(file);
  DataFileDescription description = describe(".amat text", "uint8", values);
  const bool square = values.size(1) == kSide * kSide;
  add_images(description, values, square ? kSide : 1, square ? kSide : values.size(1));
  return description;
}

DataFileDescription describe_mat(const fs::path& file) {
  const std::vector<MatArray> arrays = mat_arrays(file);
  const auto size = [](const MatArray& array) { return c10::multiply_integers(array.shape); };
  const auto largest =
      std::max_element(arrays.begin(), arrays.end(),
                       [&](const MatArray& a, const MatArray& b) { return size(a) < size(b); });
  require(largest != arrays.end() && size(*largest) > 0, "{} has no numeric array with elements",
          file.string());
  const torch::Tensor values = read_mat_array(file, largest->name);
  DataFileDescription description =
      describe(fmt::format("MATLAB 5, array '{}'", largest->name), largest->type, values);
  const bool pixels = description.min >= 0 && description.max <= 1;
  const bool images =
      values.dim() == 2 && (values.size(0) == kSide * kSide || values.size(1) == kSide * kSide);
  if (pixels && images) {
    add_images(description, to_pixels(file, mat_images(file, values, kSide)), kSide, kSide);
  }
  return description;
}

}  // namespace

std::optional<DataFileDescription> describe_data_file(const fs::path& file) {
  if (!fs::is_regular_file(fs::status(file))) return std::nullopt;
  const std::string start = first_bytes(file, 10);
  if (start.starts_with("MATLAB 5.0")) return describe_mat(file);
  if (start.starts_with(std::string_view("\0\0", 2)) || has_name_of(file, "-ubyte"))
    return describe_idx(file);
  if (has_name_of(file, ".amat")) return describe_amat(file);
  return std::nullopt;
}

}  // namespace isinglass
