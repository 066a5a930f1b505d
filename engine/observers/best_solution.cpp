// See best_solution.h.
#include "engine/observers/best_solution.h"

#include <algorithm>
#include <cmath>

namespace isinglass {
namespace {

constexpr double kRounding = 1e-9;  // relative, of energies: no improvement

}  // namespace

// −U is the objective, or less where constraints are violated: states whose −U is no better than
// the best need no look. Most steps therefore cost one maximum.
void BestSolution::on_step(int64_t, bool, const ChainState& state) {
  ++steps_;
  const torch::Tensor bound = -state.current.untempered();
  const double needed = found() ? value_ + kRounding * std::max(1.0, std::abs(value_)) : value_;
  if (bound.max().item<double>() <= needed) return;
  const torch::Tensor chains = (bound > needed).nonzero().flatten();
  const torch::Tensor x = state.x.index_select(0, chains);
  const torch::Tensor value = problem_.objective(x).masked_fill(
      problem_.violations(x) > 0, -std::numeric_limits<double>::infinity());
  const int64_t best = value.argmax().item<int64_t>();
  if (value[best].item<double>() <= needed) return;
  value_ = value[best].item<double>();
  state_ = x.narrow(0, best, 1).cpu();
  step_ = steps_;
  chain_ = state.chain_ids[chains[best].item<int64_t>()].item<int64_t>();
}

}  // namespace isinglass
