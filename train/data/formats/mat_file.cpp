// A MATLAB 5 file is a header of 128 bytes followed by elements. Each element is a tag (type,
// bytes; uint32 little-endian) and its data. At the top level the elements are matrices (14) or
// zlib streams (15) of one matrix each. A matrix consists of array flags, dimensions, name and
// values. Its elements are padded to 8 bytes, and an element of up to 4 bytes may share the 8 bytes
// of its tag. Values are stored as any number type that can hold them.
#include "train/data/formats/mat_file.h"

#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string_view>

#include "io/error.h"
#include "io/files.h"
#include "train/data/formats/format.h"
#include "train/data/readers.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHeaderBytes = 128;
enum ElementType : uint32_t {
  kInt8 = 1,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kFloat32,
  kFloat64 = 9,
  kInt64 = 12,
  kUint64,
  kMatrix,
  kCompressed
};
enum MatlabClass : uint8_t { kCell = 1, kChar = 4, kDouble = 6, kUint64Class = 15 };
constexpr uint8_t kLogicalFlag = 0x02, kComplexFlag = 0x08;

constexpr std::array<const char*, 10> kNumericClasses = {
    "double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"};

// Returns the bytes per value of an element type; 0 if it is not a plain number or character.
size_t value_bytes(uint32_t type) {
  constexpr std::array<size_t, 19> kBytes = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8,
                                             0, 0, 8, 8, 0, 0, 1, 2, 4};
  return type < kBytes.size() ? kBytes[type] : 0;
}

uint32_t word_at(std::string_view bytes, size_t at) {
  uint32_t word;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

struct Element {
  uint32_t type;
  std::string_view data;
};

// Reads the elements from the front of `rest`, one by one.
class ElementReader {
 public:
  ElementReader(const fs::path& file, std::string_view rest) : file_(file), rest_(rest) {}

  bool done() const { return rest_.empty(); }

  Element next_padded() {
    require(rest_.size() >= 8, "{} is truncated or corrupt: it ends inside an element's tag",
            file_.string());
    const uint32_t small_bytes = word_at(rest_, 0) >> 16;
    if (small_bytes == 0) return next(/*alignment=*/8);
    require(small_bytes <= 4, "{} is corrupt: a small element claims {} bytes", file_.string(),
            small_bytes);
    const Element element = {word_at(rest_, 0) & 0xffff, rest_.substr(4, small_bytes)};
    rest_.remove_prefix(8);
    return element;
  }

  Element next(size_t alignment) {
    require(rest_.size() >= 8, "{} is truncated or corrupt: it ends inside an element's tag",
            file_.string());
    const size_t bytes = word_at(rest_, 4);
    const size_t padded = (bytes + alignment - 1) / alignment * alignment;
    require(padded <= rest_.size() - 8,
            "{} is truncated or corrupt: an element announces {} bytes, but {} are left",
            file_.string(), bytes, rest_.size() - 8);
    const Element element = {word_at(rest_, 0), rest_.substr(8, bytes)};
    rest_.remove_prefix(8 + padded);
    return element;
  }

 private:
  const fs::path& file_;
  std::string_view rest_;
};

std::vector<int64_t> shape_of(const fs::path& file, const Element& element) {
  const size_t rank = element.data.size() / 4;
  require(element.type == kInt32 && element.data.size() % 4 == 0 && rank >= 2 && rank <= 32,
          "{} is corrupt: an array has no valid dimensions", file.string());
  std::vector<int64_t> shape;
  double elements = 1;
  for (size_t d = 0; d < rank; ++d) {
    const auto size = static_cast<int32_t>(word_at(element.data, 4 * d));
    require(size >= 0, "{} is corrupt: an array has a size of {}", file.string(), size);
    shape.push_back(size);
    elements *= std::max(size, 1);  // no partial product may overflow int64, even if a size is 0
  }
  require(elements <= static_cast<double>(kLargestDataFile),
          "{} announces an array of {} elements; at most {} are allowed", file.string(),
          fmt::join(shape, "x"), kLargestDataFile);
  return shape;
}

// An array and its values in the file.
struct Matrix {
  MatArray array;  // has no type unless it is numeric
  Element values = {};
};

Matrix parse_matrix(const fs::path& file, std::string_view data, int depth);

// Checks a cell array, which holds one matrix per element. The matrix of an empty element may have
// no content at all.
void check_cells(const fs::path& file, ElementReader& cells, int64_t count, int depth) {
  constexpr int kDeepest = 8;
  require(depth < kDeepest, "{} nests cell arrays deeper than {}", file.string(), kDeepest);
  for (int64_t i = 0; i < count; ++i) {
    const Element cell = cells.next(/*alignment=*/8);
    require(cell.type == kMatrix, "{} is corrupt: a cell holds an element of type {}",
            file.string(), cell.type);
    if (!cell.data.empty()) parse_matrix(file, cell.data, depth + 1);
  }
}

// Parses the content of a matrix element.
Matrix parse_matrix(const fs::path& file, std::string_view data, int depth) {
  ElementReader elements(file, data);
  const Element flags = elements.next_padded();
  require(flags.type == kUint32 && flags.data.size() == 8, "{} is corrupt: an array has no flags",
          file.string());
  const auto matlab_class = static_cast<uint8_t>(flags.data[0]);
  const auto bits = static_cast<uint8_t>(flags.data[1]);
  Matrix matrix;
  MatArray& array = matrix.array;
  array.shape = shape_of(file, elements.next_padded());
  const Element name = elements.next_padded();
  require(name.type == kInt8 && name.data.size() < 64, "{} is corrupt: an array has no valid name",
          file.string());
  array.name = std::string(name.data);
  const int64_t count = c10::multiply_integers(array.shape);
  const bool numeric = matlab_class >= kDouble && matlab_class <= kUint64Class;
  if (matlab_class == kCell) {
    check_cells(file, elements, count, depth);
  } else {
    require((numeric || matlab_class == kChar) && !(bits & kComplexFlag),
            "{}: variable '{}' is not an array of real numbers, text or cells", file.string(),
            array.name);
    const Element values = matrix.values = elements.next_padded();
    const size_t bytes = value_bytes(values.type);
    require(bytes > 0 && (!numeric || values.type <= kUint64) &&
                values.data.size() == bytes * static_cast<size_t>(count),
            "{} is corrupt: array '{}' of {} elements holds {} bytes of type {}", file.string(),
            array.name, count, values.data.size(), values.type);
  }
  require(elements.done(), "{} is corrupt: bytes follow the values of '{}'", file.string(),
          array.name);
  if (numeric) {
    array.type = bits & kLogicalFlag ? "logical" : kNumericClasses[matlab_class - kDouble];
  }
  return matrix;
}

// Decompresses the whole stream. zlib verifies its checksum.
std::string inflate_stream(const fs::path& file, std::string_view compressed) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK) {
    const size_t before = out.size(), room = std::max<size_t>(4096, before);
    require(before < kLargestDataFile, "{} holds more than {} bytes when decompressed",
            file.string(), kLargestDataFile);
    out.resize(before + room);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(before + room - stream.avail_out);
  }
  require(status == Z_STREAM_END && stream.avail_in == 0,
          "{} is truncated or corrupt: a compressed variable cannot be inflated", file.string());
  return out;
}

void check_header(const fs::path& file, std::string_view content) {
  require(content.starts_with("MATLAB 5.0"),
          "{} is not a MATLAB 5 file: it does not start with 'MATLAB 5.0'", file.string());
  require(content.size() >= kHeaderBytes, "{} is truncated inside its header of {} bytes",
          file.string(), kHeaderBytes);
  require(content.substr(124, 4) == std::string_view("\x00\x01IM", 4),
          "{} is not a little-endian MATLAB 5 file: bytes 124 to 127 of its header are wrong",
          file.string());
}

// Walks through the whole file, even after the wanted array is found, so that a damaged file is
// never read in part. `visit` is called with the numeric arrays, whose values are valid only during
// the call.
void for_each_array(const fs::path& file, const std::function<void(const Matrix&)>& visit) {
  const std::string content = read_file(file);
  check_header(file, content);
  ElementReader elements(file, std::string_view(content).substr(kHeaderBytes));
  while (!elements.done()) {
    Element element = elements.next(/*alignment=*/1);
    std::string inflated;
    if (element.type == kCompressed) {
      inflated = inflate_stream(file, element.data);
      ElementReader inner(file, inflated);
      element = inner.next(/*alignment=*/1);
      require(inner.done(), "{} is corrupt: a compressed variable holds more than one element",
              file.string());
    }
    require(element.type == kMatrix,
            "{} is corrupt: it has an element of type {} in place of a variable", file.string(),
            element.type);
    const Matrix matrix = parse_matrix(file, element.data, 0);
    if (!matrix.array.type.empty()) visit(matrix);
  }
}

template <class T>
void copy_as_double(std::string_view bytes, double* values) {
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
}

void copy_as_double(const Element& stored, double* values) {
  switch (stored.type) {
    case kInt8:
      return copy_as_double<int8_t>(stored.data, values);
    case kUint8:
      return copy_as_double<uint8_t>(stored.data, values);
    case kInt16:
      return copy_as_double<int16_t>(stored.data, values);
    case kUint16:
      return copy_as_double<uint16_t>(stored.data, values);
    case kInt32:
      return copy_as_double<int32_t>(stored.data, values);
    case kUint32:
      return copy_as_double<uint32_t>(stored.data, values);
    case kFloat32:
      return copy_as_double<float>(stored.data, values);
    case kFloat64:
      return copy_as_double<double>(stored.data, values);
    case kInt64:
      return copy_as_double<int64_t>(stored.data, values);
    default:
      TORCH_INTERNAL_ASSERT(stored.type == kUint64);
      return copy_as_double<uint64_t>(stored.data, values);
  }
}

}  // namespace

std::vector<MatArray> mat_arrays(const fs::path& file) {
  std::vector<MatArray> arrays;
  for_each_array(file, [&](const Matrix& matrix) { arrays.push_back(matrix.array); });
  return arrays;
}

torch::Tensor read_mat_array(const fs::path& file, const std::string& name) {
  std::vector<std::string> names;
  torch::Tensor values;
  for_each_array(file, [&](const Matrix& matrix) {
    const auto& [array, stored] = matrix;
    names.push_back(array.name);
    if (array.name != name || values.defined()) return;
    // A column-major array is the row-major array of the reversed shape.
    values = torch::empty(std::vector<int64_t>(array.shape.rbegin(), array.shape.rend()),
                          torch::kFloat64);
    copy_as_double(stored, values.data_ptr<double>());
  });
  require(values.defined(), "{} has no numeric array '{}'; it has: {}", file.string(), name,
          fmt::join(names, ", "));
  std::vector<int64_t> reversed(values.dim());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return values.permute(reversed);
}

torch::Tensor mat_images(const fs::path& file, const torch::Tensor& array, int64_t side) {
  const int64_t sites = side * side;
  const bool rows = array.dim() == 2 && array.size(1) == sites;
  require(rows || (array.dim() == 2 && array.size(0) == sites),
          "{} holds an array of {}; expected Nx{} or {}xN", file.string(),
          fmt::join(array.sizes(), "x"), sites, sites);
  const torch::Tensor images = rows ? array : array.t();
  return images.reshape({-1, side, side}).transpose(1, 2).reshape({-1, sites});
}

namespace {

// Describes the largest numeric array of the file, with images if they have 28×28 pixels.
DataFileDescription describe_mat(const fs::path& file) {
  const std::vector<MatArray> arrays = mat_arrays(file);
  const auto size = [](const MatArray& array) { return c10::multiply_integers(array.shape); };
  const auto largest =
      std::max_element(arrays.begin(), arrays.end(),
                       [&](const MatArray& a, const MatArray& b) { return size(a) < size(b); });
  require(largest != arrays.end() && size(*largest) > 0, "{} has no numeric array with elements",
          file.string());
  constexpr int64_t kSide = 28;
  const torch::Tensor values = read_mat_array(file, largest->name);
  DataFileDescription description =
      describe_array(fmt::format("MATLAB 5, array '{}'", largest->name), largest->type, values);
  const bool pixels = description.min >= 0 && description.max <= 1;
  const bool images =
      values.dim() == 2 && (values.size(0) == kSide * kSide || values.size(1) == kSide * kSide);
  if (pixels && images) {
    add_images(description, to_pixels(file, mat_images(file, values, kSide)), kSide, kSide);
  }
  return description;
}

}  // namespace

std::vector<DataFormat> mat_formats() {
  const auto recognises = [](const fs::path&, const std::string& start) {
    return start.starts_with("MATLAB 5.0");
  };
  return {{"MATLAB 5", recognises, nullptr, describe_mat}};
}

}  // namespace isinglass
