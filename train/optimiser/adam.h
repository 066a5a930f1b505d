// Adam (Kingma & Ba 2015, Algorithm 1) with LibTorch's fused kernel:
//   m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²,
//   θ ← θ − η·(m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε),  β₂ = 0.999, ε = 1e-8
// Weight decay (AdamW, Loshchilov & Hutter 2019, Algorithm 2) applies to parameters of two or more
// dimensions, the weights, and not to biases: θ ← (1 − η·decay)·θ before the step.
#pragma once

#include <vector>

#include "io/torch.h"

namespace isinglass {

class Adam {
 public:
  static constexpr double kBeta1 = 0.9;

  explicit Adam(std::vector<torch::Tensor> parameters, double weight_decay = 0,
                double beta1 = kBeta1);

  void set_learning_rate(double learning_rate);  // applies to all later steps

  // Makes one step with the parameters' gradients, each of which must exist. Every call launches
  // the same kernels on the same tensors. skip: float32 [], on the parameters' device. If it is 1,
  // parameters, moments and t stay as they are, to the bit. If it is undefined, the step is made.
  void step(const torch::Tensor& skip = {});

  // Increments the version counters of the parameters; must be called after every step that was
  // made or replayed. Models compare the version of a parameter to know whether values cached from
  // it are still valid, and the fused kernel does not count its writes.
  void count_writes();

  void step(double learning_rate) {  // does all three
    set_learning_rate(learning_rate);
    step();
    count_writes();
  }

  void forget();  // resets moments and t

  // The state for checkpoints: the moments in the order of the parameters, and t, float32 [].
  const std::vector<torch::Tensor>& first_moments() const { return first_; }
  const std::vector<torch::Tensor>& second_moments() const { return second_; }
  const torch::Tensor& step_number() const { return step_; }

 private:
  std::vector<torch::Tensor> parameters_, weights_, first_, second_, steps_;
  double weight_decay_, beta1_;
  torch::Tensor step_, learning_rate_, shrink_;  // on the parameters' device; shrink_: 1 − η·decay
};

}  // namespace isinglass
