// A model whose energy is another model's plus a constant: U(x) = U'(x) + c. Its distribution is
// the other model's.
#pragma once

#include <memory>

#include "kernels/ops/scratch.h"
#include "models/energy_model.h"

namespace isinglass {

class ShiftedModel : public EnergyModel, public HasEnergyDifferences, public HasSweeps {
 public:
  // constant: c [nats].
  ShiftedModel(std::shared_ptr<EnergyModel> model, double constant);

  const std::shared_ptr<EnergyModel>& unshifted() const { return model_; }

  std::string kind_name() const override { return model_->kind_name(); }
  StateSpace space() const override { return model_->space(); }
  bool differentiable() const override { return model_->differentiable(); }
  torch::Tensor base_mean() const override { return model_->base_mean(); }
  FlopCounts flops() const override { return model_->flops(); }
  bool capturable() const override { return model_->capturable(); }
  bool reads_parameters_in_place() const override { return model_->reads_parameters_in_place(); }
  void set_gradient_precision(GradientPrecision precision) override {
    model_->set_gradient_precision(precision);
  }
  bool supports_bfloat16() const override { return model_->supports_bfloat16(); }

  torch::Tensor energy(const torch::Tensor& x) override { return model_->energy(x) + constant_; }
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x, const torch::Tensor& y,
                      bool gradient, Evaluation& out) override;

  HasEnergyDifferences* exact_differences() override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  int64_t difference_calls() const override;

  HasSweeps* sweeps() override { return model_->sweeps() ? this : nullptr; }
  int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                       torch::Tensor& x, Evaluation& current, ops::StepBuffers& counts) override;
  bool sweeps_capturable() const override { return model_->sweeps()->sweeps_capturable(); }

 private:
  std::shared_ptr<EnergyModel> model_;
  double constant_;
  torch::Tensor buffer_;  // float64 []: the constant
  ops::Scratch before_;   // float64 [B]
};

}  // namespace isinglass
