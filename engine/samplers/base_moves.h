// Adds moves by the base of a residual model to any sampler (option `base-moves`): a step makes N
// surrogate transitions (surrogate.h), which cross between the modes of the base, and then a step
// of the sampler. Both leave π invariant. The sampler counts, adapts to and reports its own steps
// only; Statistics::base_moves counts the moves.
#pragma once

#include <memory>

#include "engine/samplers/surrogate.h"

namespace isinglass {

class BaseMovesSampler : public Sampler, public HasWarmup {
 public:
  // A reversed sampler makes the moves after the step.
  BaseMovesSampler(std::shared_ptr<const Sampler> inner, int64_t moves, bool reversed = false)
      : inner_(std::move(inner)), transition_(moves, /*sweeps=*/1), reversed_(reversed) {}

  ChainState init(EnergyModel& model, const torch::Tensor& x,
                  const torch::Tensor& chain_ids) const override;
  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return inner_->needs(); }
  bool exact() const override { return inner_->exact(); }
  std::vector<Scale> scales() const override { return inner_->scales(); }
  void reevaluate(EnergyModel& model, ChainState& state) const override {
    inner_->reevaluate(model, state);
  }
  bool needs_host_sync() const override { return inner_->needs_host_sync(); }
  bool captures(const EnergyModel& model) const override {
    return inner_->captures(model) && transition_.captures(model);
  }
  bool is_metropolis() const override { return inner_->is_metropolis(); }
  bool is_interacting() const override { return inner_->is_interacting(); }
  int64_t base_moves() const override { return transition_.moves(); }
  std::unique_ptr<Sampler> reversed(int64_t last) const override;

  const HasWarmup* warmup() const override { return inner_->warmup() ? this : nullptr; }
  StepInfo burn_in_step(EnergyModel& model, ChainState& state, StepParams& params, int64_t t,
                        int64_t total, const Ranks& ranks = Ranks::single_process()) const override;
  bool saves_warmup() const override { return inner_->warmup()->saves_warmup(); }
  Adaptation adaptation(const ChainState& state, const StepParams& params,
                        const BurnIn& burn_in) const override {
    return inner_->warmup()->adaptation(state, params, burn_in);
  }
  NamedTensors learned(const ChainState& state) const override {
    return inner_->warmup()->learned(state);
  }
  void restore(ChainState& state, const NamedTensors& learned) const override {
    inner_->warmup()->restore(state, learned);
  }

 private:
  int64_t move(EnergyModel& model, ChainState& state, const StepParams& params) const;

  std::shared_ptr<const Sampler> inner_;
  SurrogateTransition transition_;
  bool reversed_;
};

}  // namespace isinglass
