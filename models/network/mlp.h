// Multilayer perceptron: U(x) = −net(x) on the flattened input of D or D·K numbers, with three
// times Linear(256)–swish followed by Linear to one number. State dict: {0,2,4,6}.{weight,bias}, as
// torch.nn.Sequential writes it. With more than one output it is a classifier, and
// U(x) = −net(x)[y] is the energy of one class y (Grathwohl et al. 2020, "Your classifier is
// secretly an energy based model").
#pragma once

#include <torch/nn/modules/linear.h>

#include "models/energy_model.h"
#include "models/network/classifier.h"

namespace isinglass {

class MlpModel : public EnergyModel, public HasLogits {
 public:
  static constexpr int64_t kWidth = 256;

  // Makes new weights by the initialisation of torch.nn.Linear. One-hot input is flattened to D·K
  // numbers.
  explicit MlpModel(const StateSpace& space, int64_t outputs = 1, int64_t label = 0);

  std::string kind_name() const override { return "mlp"; }
  StateSpace space() const override { return space_; }
  FlopCounts flops() const override;
  bool reads_parameters_in_place() const override { return true; }
  torch::Tensor energy(const torch::Tensor& x) override;
  torch::Tensor logits(const torch::Tensor& x) override;

 private:
  StateSpace space_;
  int64_t label_;  // y
  std::vector<torch::nn::Linear> layers_;
};

}  // namespace isinglass
