// Exponential moving average of parameters. The t-th update is
//   θ̄ ← d θ̄ + (1 − d) θ,  d = min(decay, (1 + t) / (10 + t)),
// starting from θ̄ = θ. While t is small, θ̄ averages about the last tenth of the updates, so that
// the average of a short run does not consist of its initial parameters.
#pragma once

#include <vector>

#include "io/torch.h"

namespace isinglass {

class Ema {
 public:
  Ema(std::vector<torch::Tensor> parameters, double decay);

  // skip: as in Adam::step(). If it is 1, θ̄ and t stay as they are.
  void update(const torch::Tensor& skip = {});

  // Exchanges the averages and the parameters, bit for bit. Two calls restore the original values.
  void swap();

  // The state for checkpoints: the averages in the order of the parameters, and t, float64 [].
  const std::vector<torch::Tensor>& averages() const { return averages_; }
  const torch::Tensor& updates() const { return updates_; }

 private:
  std::vector<torch::Tensor> parameters_, averages_;
  double decay_;
  torch::Tensor updates_;  // on the parameters' device
};

// Replaces the parameters by their averages for the lifetime of this object.
class Averaged {
 public:
  explicit Averaged(Ema& ema) : ema_(ema) { ema_.swap(); }
  ~Averaged() { ema_.swap(); }
  Averaged(const Averaged&) = delete;
  Averaged& operator=(const Averaged&) = delete;

 private:
  Ema& ema_;
};

}  // namespace isinglass
