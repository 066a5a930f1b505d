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

// The best value, and of equal ones the first that was seen: what one process keeps.
void BestSolution::on_end() {
  if (ranks_.size() == 1) return;
  const torch::Tensor own =
      found() ? state_ : torch::zeros({1, problem_.space().sites}, torch::kUInt8);
  const torch::Tensor values = ranks_.gather(torch::tensor({value_}, torch::kFloat64));
  const torch::Tensor steps = ranks_.gather(torch::tensor({step_}));
  const torch::Tensor chains = ranks_.gather(torch::tensor({chain_}));
  const torch::Tensor states = ranks_.gather(own);
  const auto value = values.accessor<double, 1>();
  const auto step = steps.accessor<int64_t, 1>();
  int64_t best = 0;
  for (int64_t r = 1; r < ranks_.size(); ++r) {
    if (!std::isfinite(value[r])) continue;
    const double clear = kRounding * std::max(1.0, std::abs(value[r]));
    const bool earlier = value[r] >= value[best] - clear && step[r] < step[best];
    if (value[r] - clear > value[best] || earlier) best = r;
  }
  if (!std::isfinite(value[best])) return;
  value_ = value[best];
  step_ = step[best];
  chain_ = chains[best].item<int64_t>();
  state_ = states.narrow(0, best, 1).clone();
}

}  // namespace isinglass
