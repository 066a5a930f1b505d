// The annealed energy U_β = (1 − β)·U_0 + β·U between a factorised distribution and a model. Where
// the model carries the base distribution itself (U = U_net + U_base, U_0 = U_base) this is U_base
// + β·U_net.
//
// The parts (U_0, U, and ∇U or the differences of both) of every state stay in its cache, so that a
// change of β costs no model call; and behind them what the model itself keeps there.
#pragma once

#include "engine/annealing/factorised.h"
#include "models/energy_model.h"

namespace isinglass {

class AnnealedModel : public EnergyModel, public HasEnergyDifferences {
 public:
  // Both outlive this object.
  AnnealedModel(EnergyModel& target, const Factorised& start, torch::Device device);

  std::string kind_name() const override { return target_.kind_name(); }
  StateSpace space() const override { return target_.space(); }
  bool differentiable() const override { return target_.differentiable(); }
  bool capturable() const override { return target_.capturable(); }

  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x, const torch::Tensor& y,
                      bool gradient, Evaluation& out) override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  int64_t difference_calls() const override { return difference_calls_; }  // the target's

  // Sets β and recombines an evaluation from its cache.
  void set_beta(double beta, Evaluation& current);

  // U_0 − U at the states of an evaluation, float64 [B]: −dU_β/dβ.
  static torch::Tensor slope(const Evaluation& current);

 private:
  void combine(const Evaluation& start, const Evaluation& target, Evaluation& out) const;
  void recombine(Evaluation& out) const;

  EnergyModel& target_;
  EnergyModel& start_;
  torch::Tensor start_gradient_;  // float32 [D] or [D, K]: ∇U_0, the same everywhere
  torch::Tensor beta_, beta32_;   // float64 [], float32 []
  int64_t difference_calls_ = 1;
};

}  // namespace isinglass
