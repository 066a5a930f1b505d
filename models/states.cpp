// Implements the checks of state spaces and batches, with check_states() of energy_model.h.
#include "models/states.h"

#include <fmt/ostream.h>

#include <limits>
#include <map>

#include "io/error.h"

namespace isinglass {
namespace {

std::string dtype_name(torch::ScalarType type) {
  static const std::map<torch::ScalarType, const char*> names = {
      {torch::kFloat32, "float32"}, {torch::kFloat64, "float64"}, {torch::kUInt8, "uint8"},
      {torch::kInt8, "int8"},       {torch::kInt16, "int16"},     {torch::kInt32, "int32"},
      {torch::kInt64, "int64"},     {torch::kBool, "bool"}};
  const auto found = names.find(type);
  return found != names.end() ? found->second : c10::toString(type);
}

void check_shape(const StateSpace& space, const torch::Tensor& x, const std::string& what) {
  require(x.dim() == 2 && x.size(1) == space.sites, "{} have shape {}, but the model needs [N, {}]",
          what, fmt::format("{}", fmt::streamed(x.sizes())), space.sites);
}

void check_values(const StateSpace& space, const torch::Tensor& x, const std::string& what) {
  if (!space.discrete() || x.numel() == 0) return;
  if (space.kind == StateKind::kPermutation) {
    const torch::Tensor sorted = std::get<0>(x.sort(1));
    const auto wrong = (sorted != torch::arange(space.sites, x.options())).any(1);
    const int64_t count = wrong.sum().item<int64_t>();
    require(count == 0, "{} hold {} rows that are not permutations of 0 to {}", what, count,
            space.sites - 1);
    return;
  }
  const int64_t least = x.min().item<int64_t>(), most = x.max().item<int64_t>();
  const bool spins = space.categories == 2 && least == -1 && most <= 1;
  require(
      !spins,
      "{} hold the value -1, but the model has values 0 and 1; (x + 1) / 2 converts spins -1 and 1",
      what);
  require(least >= 0 && most < space.categories,
          "{} hold the value {}, but the model has values 0 to {}", what, least < 0 ? least : most,
          space.categories - 1);
}

}  // namespace

void check_space(const StateSpace& space, const std::string& title) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  require(space.sites >= 1 && space.sites <= kMost, "{} has {} sites; 1 to {} are allowed", title,
          space.sites, kMost);
  if (space.kind == StateKind::kPermutation) {
    constexpr int64_t kMostEntries = 65536;  // their pairs number fewer than 2^31
    require(space.sites <= kMostEntries,
            "{} permutes {} entries; at most {} are allowed, because pairs of entries are indexed "
            "by int32",
            title, space.sites, kMostEntries);
  } else if (space.discrete()) {
    require(space.categories >= 2 && space.categories <= 256,
            "{} has {} values per site; 2 to 256 are allowed", title, space.categories);
  }
}

const char* kind_name(StateKind kind) {
  static const char* const names[] = {"binary", "categorical", "ordered", "continuous",
                                      "permutation"};
  return names[static_cast<int>(kind)];
}

std::string sites_text(const StateSpace& space) {
  const bool valued = space.kind == StateKind::kCategorical || space.kind == StateKind::kOrdered;
  return fmt::format("{} {} sites{}", space.sites, kind_name(space.kind),
                     valued ? fmt::format(" of {} values", space.categories) : "");
}

void check_states(const StateSpace& space, const torch::Tensor& x, const std::string& what) {
  check_shape(space, x, what);
  require(x.scalar_type() == space.dtype(), "{} must be {}, but are {}", what,
          dtype_name(space.dtype()), dtype_name(x.scalar_type()));
  check_values(space, x, what);
}

torch::Tensor as_states(const StateSpace& space, const torch::Tensor& x, const std::string& what) {
  const bool whole = at::isIntegralType(x.scalar_type(), /*includeBool=*/true);
  const bool converts = space.discrete() ? whole : x.is_floating_point();
  if (!converts || x.scalar_type() == space.dtype()) {
    check_states(space, x, what);
    return x;
  }
  check_shape(space, x, what);
  // The conversion to a smaller type could change the values.
  if (space.discrete()) check_values(space, x.to(torch::kInt64), what);
  return x.to(space.dtype());
}

}  // namespace isinglass
