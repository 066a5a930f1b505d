// See step_recorder.h.
#include "engine/observers/step_recorder.h"

namespace isinglass {

StepRecorder::StepRecorder(const RunPlan& plan, const Ranks& ranks) : plan_(plan), ranks_(ranks) {}

void StepRecorder::on_step(int64_t, bool burn_in, const ChainState& state) {
  if (burn_in) return;
  if (!steps_acceptance_.defined()) {
    steps_acceptance_ = torch::zeros_like(state.statistics.acceptance);
    steps_hops_ = torch::zeros_like(steps_acceptance_);
    const int64_t chains = ranks_.sum(torch::tensor(state.chains())).item<int64_t>();
    for (GatheredDraws* draws : {&acceptance_, &hops_}) {
      *draws = GatheredDraws(
          torch::empty(
              {plan_.steps / plan_.thin, chains},
              torch::device(ranks_.leads() ? torch::kCPU : torch::kMeta).dtype(torch::kFloat64)),
          ranks_);
    }
  }
  steps_acceptance_.add_(state.statistics.acceptance);
  steps_hops_.add_(state.statistics.hops);
}

void StepRecorder::on_draw(int64_t draw, const ChainState&) {
  const double steps = static_cast<double>(plan_.thin);
  acceptance_.put(steps_acceptance_.div_(steps));
  hops_.put(steps_hops_.div_(steps));
  steps_acceptance_.zero_();
  steps_hops_.zero_();
  made_ = draw + 1;
}

void StepRecorder::on_end() {
  acceptance_.finish();
  hops_.finish();
}

}  // namespace isinglass
