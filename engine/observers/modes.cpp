// Implements the record of chains at right modes.
#include "engine/observers/modes.h"

namespace isinglass {

ModeShare::ModeShare(const Modes& modes, const RunPlan& plan)
    : modes_(modes),
      plan_(plan),
      share_(torch::empty({plan.burn_in + plan.steps}, torch::kFloat32)) {}

void ModeShare::on_step(int64_t step, bool burn_in, const ChainState& state) {
  const torch::Tensor right = modes_.at_right(state.x);
  share_[burn_in ? step : plan_.burn_in + step] = right.mean();
  if (burn_in || step < plan_.steps - plan_.steps / 4) return;
  late_ = late_.defined() ? late_ + right : right;
  ++late_steps_;
}

std::optional<int64_t> ModeShare::steps_until(double share) const {
  const torch::Tensor reached = (share_ >= share).nonzero();
  if (reached.size(0) == 0) return std::nullopt;
  return reached[0][0].item<int64_t>() + 1;
}

}  // namespace isinglass
