// Which chains are at right modes (models/combined/misled.h); all chains are on this rank.
#pragma once

#include <optional>

#include "engine/run/run.h"
#include "models/combined/misled.h"

namespace isinglass {

class ModeShare : public Observer {
 public:
  ModeShare(const Modes& modes, const RunPlan& plan);
  void on_step(int64_t step, bool burn_in, const ChainState& state) override;
  // Of the chains, after every step from the start: float32 [steps].
  const torch::Tensor& share() const { return share_; }
  // Of the steps in the last quarter: float64 [B].
  torch::Tensor late() const { return (late_ / static_cast<double>(late_steps_)).cpu(); }
  // Steps until the share is first as large; none where it never is.
  std::optional<int64_t> steps_until(double share) const;

 private:
  Modes modes_;
  RunPlan plan_;
  torch::Tensor share_, late_;
  int64_t late_steps_ = 0;
};

}  // namespace isinglass
