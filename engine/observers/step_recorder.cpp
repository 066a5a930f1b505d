// See step_recorder.h.
#include "engine/observers/step_recorder.h"

namespace isinglass {

StepRecorder::StepRecorder(const RunPlan& plan) : plan_(plan) {}

void StepRecorder::on_step(int64_t, bool burn_in, const ChainState& state) {
  if (burn_in) return;
  if (!steps_acceptance_.defined()) {
    steps_acceptance_ = torch::zeros_like(state.statistics.acceptance);
    steps_hops_ = torch::zeros_like(steps_acceptance_);
    acceptance_ = torch::empty({plan_.steps / plan_.thin, state.chains()}, torch::kFloat64);
    hops_ = torch::empty_like(acceptance_);
  }
  steps_acceptance_.add_(state.statistics.acceptance);
  steps_hops_.add_(state.statistics.hops);
}

void StepRecorder::on_draw(int64_t draw, const ChainState&) {
  const double steps = static_cast<double>(plan_.thin);
  acceptance_[draw].copy_(steps_acceptance_.div_(steps));
  hops_[draw].copy_(steps_hops_.div_(steps));
  steps_acceptance_.zero_();
  steps_hops_.zero_();
  made_ = draw + 1;
}

}  // namespace isinglass
