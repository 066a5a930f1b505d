// See best_solution.h.
#include "engine/best_solution.h"

namespace isinglass {

// −U is the objective, or less where constraints are violated: states whose −U is no better than
// the best need no look. Most steps therefore cost one maximum.
void BestSolution::on_step(int64_t, bool, const ChainState& state) {
  ++steps_;
  const torch::Tensor bound = -state.current.energy;
  if (bound.max().item<double>() <= value_) return;
  const torch::Tensor chains = (bound > value_).nonzero().flatten();
  const torch::Tensor x = state.x.index_select(0, chains);
  const torch::Tensor value = problem_.objective(x).masked_fill(
      problem_.violations(x) > 0, -std::numeric_limits<double>::infinity());
  const int64_t best = value.argmax().item<int64_t>();
  if (value[best].item<double>() <= value_) return;
  value_ = value[best].item<double>();
  state_ = x.narrow(0, best, 1).cpu();
  step_ = steps_;
  chain_ = state.chain_ids[chains[best].item<int64_t>()].item<int64_t>();
}

}  // namespace isinglass
