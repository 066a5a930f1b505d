// A model whose energy is another model's plus a constant: U(x) = U'(x) + c. Its distribution is
// the other model's.
#pragma once

#include <memory>

#include "kernels/ops/scratch.h"
#include "models/wrapped_model.h"

namespace isinglass {

class ShiftedModel : public WrappedModel, public HasEnergyDifferences, public HasSweeps {
 public:
  // constant: c [nats].
  ShiftedModel(std::shared_ptr<EnergyModel> model, double constant);

  const std::shared_ptr<EnergyModel>& unshifted() const { return inner_pointer(); }

  torch::Tensor energy(const torch::Tensor& x) override { return inner().energy(x) + constant_; }
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x, const torch::Tensor& y,
                      bool gradient, Evaluation& out) override;

  HasEnergyDifferences* exact_differences() override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  int64_t difference_calls() const override;

  HasSweeps* sweeps() override { return inner().sweeps() ? this : nullptr; }
  int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                       torch::Tensor& x, Evaluation& current, ops::StepBuffers& counts) override;
  bool sweeps_capturable() const override { return inner().sweeps()->sweeps_capturable(); }

 private:
  double constant_;
  torch::Tensor buffer_;  // float64 []: the constant
  ops::Scratch before_;   // float64 [B]
};

}  // namespace isinglass
