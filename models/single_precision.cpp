// Implements the conversion to float32 and the warning about changed numbers.
#include "models/single_precision.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace isinglass {

torch::Tensor SingleReader::take(const std::string& key, const std::vector<int64_t>& shape) {
  const torch::Tensor given = reader_.real(key, shape), single = given.to(torch::kFloat32);
  const torch::Tensor off = (given - single).abs(), changes = off > 0;
  if (changes.any().item<bool>()) {
    rounded_.push_back(key);
    const torch::Tensor relative = (off / given.abs()).masked_select(changes);
    rounding_ = std::max(rounding_, relative.max().item<double>());
  }
  return single;
}

void SingleReader::warn() const {
  if (rounded_.empty()) return;
  constexpr size_t kMost = 3;
  std::vector<std::string> first = rounded_;
  first.resize(std::min(first.size(), kMost));
  TORCH_WARN(reader_.source(),
             fmt::format(": the model computes in float32, so that float64 numbers of tensor{} "
                         "{}{} are rounded, by up to {:.2g} of their size",
                         rounded_.size() == 1 ? "" : "s", fmt::join(first, ", "),
                         rounded_.size() > kMost ? ", …" : "", rounding_));
}

}  // namespace isinglass
