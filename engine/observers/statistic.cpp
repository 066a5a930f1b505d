// Implements the statistics and the choice of the reference state.
#include "engine/observers/statistic.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "io/error.h"

namespace isinglass {
namespace {

// Returns row sums of whole values up to `most`, in float64. If float32 can represent the sums
// exactly, it is used for the addition because it is faster.
torch::Tensor whole_sums(const torch::Tensor& values, int64_t most) {
  const bool small = most * values.size(1) < int64_t{1} << 24;
  const torch::Tensor numbers = values.to(small ? torch::kFloat32 : torch::kFloat64);
  return numbers.sum(1).to(torch::kFloat64);
}

torch::Tensor sum_of_values(const ChainState& state) {
  if (state.x.scalar_type() != torch::kUInt8) return state.x.sum(1, false, torch::kFloat64);
  return whole_sums(state.x, 255);
}

// Returns 0/1 patterns, float64 [D], that mark every second site: in the site index and, if the
// number of sites is a square or a cube, along every axis of such a lattice and along several of
// them together.
std::vector<torch::Tensor> halves_of(int64_t sites) {
  const torch::Tensor index = torch::arange(sites);
  std::vector<torch::Tensor> halves = {index % 2};
  for (int64_t axes = 2; axes <= 3; ++axes) {
    const auto side = std::lround(std::pow(static_cast<double>(sites), 1.0 / axes));
    std::vector<int64_t> stride = {1};  // of each axis, then the number of sites
    while (std::ssize(stride) <= axes) stride.push_back(stride.back() * side);
    if (stride.back() != sites || side < 2) continue;
    for (int64_t chosen = 1; chosen < int64_t{1} << axes; ++chosen) {
      torch::Tensor sum = torch::zeros_like(index);
      for (int64_t axis = 0; axis < axes; ++axis) {
        if (chosen >> axis & 1) sum += torch::div(index, stride[axis], "floor") % side;
      }
      halves.push_back(sum % 2);
    }
  }
  for (torch::Tensor& half : halves) half = half.to(torch::kFloat64);
  return halves;
}

// Returns the least differences, capped at `wanted`, between the distances from x of states that
// symmetries map to each other: first over all such pairs, then over the uniform states alone.
std::pair<double, double> differences_at(const torch::Tensor& x, const StateSpace& space,
                                         const std::vector<torch::Tensor>& halves, double wanted) {
  const torch::Tensor values = torch::one_hot(x.flatten().to(torch::kInt64), space.categories);
  const torch::Tensor on = values.to(torch::kFloat64);  // [D, K]
  // Returns the least difference between two of the K counts, [K].
  const auto least = [&](const torch::Tensor& number) {
    const torch::Tensor sorted = std::get<0>(number.sort());
    return std::min(wanted, sorted.diff().min().item<double>());
  };
  const torch::Tensor all = on.sum(0);
  const double uniform = least(all);
  double any = uniform;
  for (const torch::Tensor& half : halves) {
    const torch::Tensor first = half.matmul(on), second = all - first;
    any = std::min({any, least(first), least(second), least(first - second)});
  }
  return {any, uniform};
}

Statistic hamming_distance(const StateSpace& space, torch::Device device) {
  require_options(space.discrete(), "`statistic` hamming needs discrete states");
  const torch::Tensor fixed = hamming_reference(space, device);
  return [fixed](const ChainState& state) { return whole_sums(state.x != fixed, 1); };
}

}  // namespace

const std::vector<std::string>& statistic_names() {
  static const std::vector<std::string> names = {"energy", "hamming", "sum"};
  return names;
}

// Tries the random states of chain numbers that no run has. Returns the first one with the wanted
// differences, or else the best one.
torch::Tensor hamming_reference(const StateSpace& space, torch::Device device) {
  constexpr int64_t kNoChain = 4294967295, kTries = 256;
  const auto state = [&](int64_t number) {
    return random_states(space, torch::tensor({kNoChain - number}), 0, torch::kCPU);
  };
  if (space.kind == StateKind::kPermutation || space.sites < 2) return state(0).to(device);
  const double wanted = std::max(1.0, std::floor(std::sqrt(static_cast<double>(space.sites)) / 16));
  const std::vector<torch::Tensor> halves = halves_of(space.sites);
  torch::Tensor best;
  std::pair<double, double> best_differences = {-1, -1};
  for (int64_t number = 0; number < kTries && best_differences.first < wanted; ++number) {
    const torch::Tensor x = state(number);
    const auto differences = differences_at(x, space, halves, wanted);
    if (differences <= best_differences) continue;
    best_differences = differences;
    best = x;
  }
  return best.to(device);
}

Statistic make_statistic(const std::string& name, const StateSpace& space, torch::Device device) {
  if (name == "energy") return {};
  if (name == "sum") return sum_of_values;
  require_option(name == "hamming", "statistic", fmt::format("'{}'", name), "one of {} is needed",
                 fmt::join(statistic_names(), ", "));
  return hamming_distance(space, device);
}

}  // namespace isinglass
