// Implements the conversion of NumPy arrays to tensors.
#include "train/data/formats/numpy_array.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "io/error.h"

namespace isinglass {
namespace {

static_assert(std::endian::native == std::endian::little);

// A number type as it is stored in the file and as it is kept in memory.
struct NumpyType {
  std::string_view name;
  torch::ScalarType stored, kept;
  size_t bytes;
};

const NumpyType* type_named(std::string_view name) {
  static const std::vector<NumpyType> types = {
      {"b1", torch::kUInt8, torch::kBool, 1},      {"u1", torch::kUInt8, torch::kUInt8, 1},
      {"i1", torch::kInt8, torch::kInt8, 1},       {"u2", torch::kUInt16, torch::kInt32, 2},
      {"i2", torch::kInt16, torch::kInt16, 2},     {"u4", torch::kUInt32, torch::kInt64, 4},
      {"i4", torch::kInt32, torch::kInt32, 4},     {"u8", torch::kUInt64, torch::kInt64, 8},
      {"i8", torch::kInt64, torch::kInt64, 8},     {"f2", torch::kFloat16, torch::kFloat32, 2},
      {"f4", torch::kFloat32, torch::kFloat32, 4}, {"f8", torch::kFloat64, torch::kFloat64, 8}};
  const auto found = std::find_if(types.begin(), types.end(),
                                  [&](const NumpyType& type) { return type.name == name; });
  return found == types.end() ? nullptr : &*found;
}

// Returns the type of a text such as "<f4". The byte order is that of the machine ('<' or '='), the
// other one ('>'), or that of single bytes ('|').
const NumpyType& type_of(std::string_view text) {
  const NumpyType* type = text.size() == 3 ? type_named(text.substr(1)) : nullptr;
  const bool ordered = type && (std::string_view("<>=").find(text[0]) != std::string_view::npos ||
                                (text[0] == '|' && type->bytes == 1));
  require(ordered,
          "holds an array of type '{}'; only bool, whole numbers of 1 to 8 bytes and real numbers "
          "of 2, 4 or 8 bytes can be read",
          text.substr(0, 40));
  return *type;
}

void reverse_bytes(torch::Tensor& values, size_t size) {
  auto* byte = static_cast<char*>(values.data_ptr());
  for (char* end = byte + values.nbytes(); byte < end; byte += size)
    std::reverse(byte, byte + size);
}

}  // namespace

torch::Tensor tensor_of(const NumpyArray& array) {
  const NumpyType& type = type_of(array.type);
  auto needed = static_cast<double>(type.bytes);  // exact up to 2^53, above any file
  for (const int64_t size : array.shape) needed *= static_cast<double>(size);
  require(needed > 0, "holds an array of shape [{}], which has no values",
          fmt::join(array.shape, ", "));
  require(needed == static_cast<double>(array.bytes.size()),
          "announces an array of shape [{}] and type {}, but holds {} of its {} bytes",
          fmt::join(array.shape, ", "), array.type, array.bytes.size(), needed);
  std::vector<int64_t> shape = array.shape;
  if (array.fortran) std::reverse(shape.begin(), shape.end());
  torch::Tensor values = torch::empty(shape, type.stored);
  std::memcpy(values.data_ptr(), array.bytes.data(), array.bytes.size());
  if (array.type[0] == '>') reverse_bytes(values, type.bytes);
  values = values.to(type.kept);
  return array.fortran && shape.size() > 1 ? values.numpy_T().contiguous() : values;
}

}  // namespace isinglass
