// How chains moved: acceptance and hops per step, for every draw and chain.
#pragma once

#include "engine/run/run.h"

namespace isinglass {

class StepRecorder : public Observer {
 public:
  explicit StepRecorder(const RunPlan& plan);

  void on_step(int64_t step, bool burn_in, const ChainState& state) override;
  void on_draw(int64_t draw, const ChainState& state) override;

  // Both float64 [draws, chains].
  torch::Tensor acceptance() const { return acceptance_.narrow(0, 0, made_); }
  torch::Tensor hops() const { return hops_.narrow(0, 0, made_); }

 private:
  RunPlan plan_;
  torch::Tensor steps_acceptance_, steps_hops_;  // float64 [chains]: sums since the last draw
  torch::Tensor acceptance_, hops_;
  int64_t made_ = 0;
};

}  // namespace isinglass
