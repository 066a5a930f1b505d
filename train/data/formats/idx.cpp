// Implements the reader of IDX files.
#include "train/data/formats/idx.h"

#include <fmt/ranges.h>

#include <cstring>

#include "io/error.h"
#include "io/files.h"
#include "train/data/formats/format.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

constexpr size_t kMagicBytes = 4, kSizeBytes = 4;

std::vector<int64_t> shape_of(const std::filesystem::path& file, const std::string& content) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(content[i]); };
  require(content.size() >= kMagicBytes && byte(0) == 0 && byte(1) == 0 && byte(3) > 0,
          "{} is not an IDX file: it does not start with two zero bytes, a type and a number of "
          "dimensions",
          file.string());
  require(byte(2) == 0x08,
          "{} is an IDX file of element type 0x{:02x}; expected unsigned bytes, 0x08",
          file.string(), byte(2));
  const size_t dimensions = byte(3);
  require(content.size() >= kMagicBytes + kSizeBytes * dimensions,
          "{} ends inside its IDX header of {} dimensions", file.string(), dimensions);
  std::vector<int64_t> shape(dimensions);
  for (size_t d = 0; d < dimensions; ++d) {
    const size_t at = kMagicBytes + kSizeBytes * d;
    shape[d] = int64_t{byte(at)} << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3);
  }
  return shape;
}

}  // namespace

torch::Tensor read_idx(const std::filesystem::path& file) {
  const std::string content = read_maybe_gzip(file, kLargestDataFile);
  require(!content.empty(), "{} is empty; expected an IDX file", file.string());
  const std::vector<int64_t> shape = shape_of(file, content);
  const size_t header = kMagicBytes + kSizeBytes * shape.size();
  double elements = 1;  // exact up to 2^53, far above what a file can hold
  for (const int64_t size : shape) elements *= static_cast<double>(size);
  require(elements > 0 && elements == static_cast<double>(content.size() - header),
          "{} announces {} elements in its IDX header, but holds {}", file.string(),
          fmt::join(shape, "x"), content.size() - header);
  torch::Tensor values = torch::empty(shape, torch::kUInt8);
  std::memcpy(values.data_ptr<uint8_t>(), content.data() + header, content.size() - header);
  return values;
}

std::vector<DataFormat> idx_formats() {
  const auto recognises = [](const std::filesystem::path& file, const std::string& start) {
    return start.starts_with(std::string_view("\0\0", 2)) || is_named(file, "-ubyte");
  };
  return {{"IDX", recognises, read_idx}};
}

}  // namespace isinglass
