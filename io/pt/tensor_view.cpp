// Implements the checks of sizes, strides and offsets.
#include "io/pt/tensor_view.h"

#include <algorithm>
#include <array>
#include <utility>

#include "io/error.h"

namespace isinglass {
namespace {

using Wide = __int128;

constexpr size_t kMaxDimensions = 64;
constexpr int64_t kMaxExtent = int64_t{1} << 48;    // bound of a size, a stride and their products
constexpr int64_t kMaxRepeated = int64_t{1} << 24;  // elements of a view larger than its storage

// Returns the number of elements, counting a zero size as one, because LibTorch's own products must
// not overflow either.
Wide nonzero_product(const std::vector<int64_t>& sizes) {
  Wide product = 1;
  for (const int64_t size : sizes) {
    require(size >= 0 && size <= kMaxExtent, "has a tensor with the impossible size {}", size);
    product *= std::max<int64_t>(size, 1);
    require(product <= kMaxExtent, "has a tensor of more than {} elements", kMaxExtent);
  }
  return product;
}

}  // namespace

std::optional<torch::ScalarType> storage_type(std::string_view global) {
  static constexpr std::array<std::pair<std::string_view, torch::ScalarType>, 11> kTypes = {{
      {"torch.FloatStorage", torch::kFloat},
      {"torch.DoubleStorage", torch::kDouble},
      {"torch.HalfStorage", torch::kHalf},
      {"torch.BFloat16Storage", torch::kBFloat16},
      {"torch.LongStorage", torch::kLong},
      {"torch.IntStorage", torch::kInt},
      {"torch.ShortStorage", torch::kShort},
      {"torch.CharStorage", torch::kChar},
      {"torch.ByteStorage", torch::kByte},
      {"torch.BoolStorage", torch::kBool},
      {"torch.UntypedStorage", torch::kByte},
  }};
  for (const auto& [name, type] : kTypes)
    if (name == global) return type;
  return std::nullopt;
}

torch::Tensor checked_view(const c10::Storage& storage, torch::ScalarType type, int64_t offset,
                           const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  require(sizes.size() <= kMaxDimensions && strides.size() == sizes.size(),
          "has a tensor with {} sizes and {} strides", sizes.size(), strides.size());
  const Wide product = nonzero_product(sizes);
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  const auto elements = static_cast<int64_t>(storage.nbytes() / torch::elementSize(type));

  Wide last = offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    require(strides[d] >= 0 && strides[d] <= kMaxExtent,
            "has a tensor with the impossible stride {}", strides[d]);
    last += Wide{std::max<int64_t>(sizes[d] - 1, 0)} * strides[d];
  }
  require(offset >= 0 && (empty ? offset <= elements : last < elements),
          "has a tensor outside its storage of {} elements", elements);
  require(empty || product <= std::max(elements, kMaxRepeated),
          "has a tensor that repeats {} stored elements more than {} times", elements,
          kMaxRepeated / std::max<int64_t>(elements, 1));
  return torch::empty({0}, type).set_(storage, offset, sizes, strides);
}

}  // namespace isinglass
