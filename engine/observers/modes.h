// Records which chains are at right modes of a target with wrong modes
// (models/combined/wrong_gradient.h). All chains must be on this rank.
#pragma once

#include <optional>

#include "engine/run/run.h"
#include "models/combined/wrong_gradient.h"

namespace isinglass {

class ModeShare : public Observer {
 public:
  ModeShare(const Modes& modes, const RunPlan& plan);
  void on_step(int64_t step, bool burn_in, const ChainState& state) override;
  // Returns the fraction of chains at right modes after every step, burn-in included: float32
  // [steps].
  const torch::Tensor& share() const { return share_; }
  // Returns the fraction of the last quarter of the kept steps that each chain spent at right
  // modes: float64 [B].
  torch::Tensor late() const { return (late_ / static_cast<double>(late_steps_)).cpu(); }
  // Returns the number of steps until the fraction first reaches `share`; nullopt if it never does.
  std::optional<int64_t> steps_until(double share) const;

 private:
  Modes modes_;
  RunPlan plan_;
  torch::Tensor share_, late_;
  int64_t late_steps_ = 0;
};

}  // namespace isinglass
