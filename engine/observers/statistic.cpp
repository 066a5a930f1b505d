// See statistic.h.
#include "engine/observers/statistic.h"

#include <fmt/ranges.h>

#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "io/error.h"

namespace isinglass {
namespace {

torch::Tensor sum_of_values(const ChainState& state) {
  return state.x.sum(1, false, torch::kFloat64);
}

// The same state in every run: that of a chain number which no run has.
Statistic hamming_distance(const StateSpace& space, torch::Device device) {
  require_options(space.discrete(), "`statistic` hamming needs discrete states");
  constexpr int64_t kNoChain = 4294967295;
  const torch::Tensor fixed = random_states(space, torch::tensor({kNoChain}), 0, device);
  return [fixed](const ChainState& state) { return (state.x != fixed).sum(1).to(torch::kFloat64); };
}

}  // namespace

const std::vector<std::string>& statistic_names() {
  static const std::vector<std::string> names = {"energy", "hamming", "sum"};
  return names;
}

Statistic make_statistic(const std::string& name, const StateSpace& space, torch::Device device) {
  if (name == "energy") return {};
  if (name == "sum") return sum_of_values;
  require_option(name == "hamming", "statistic", fmt::format("'{}'", name), "one of {} is needed",
                 fmt::join(statistic_names(), ", "));
  return hamming_distance(space, device);
}

}  // namespace isinglass
