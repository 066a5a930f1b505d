// Exponential moving average of parameters: θ̄ ← decay·θ̄ + (1 − decay)·θ, from θ̄ = θ at the start.
#pragma once

#include <vector>

#include "io/torch.h"

namespace isinglass {

class Ema {
 public:
  Ema(std::vector<torch::Tensor> parameters, double decay);

  void update();

  // Exchanges the averages and the parameters, bit for bit: twice is the identity.
  void swap();

  const std::vector<torch::Tensor>& averages() const { return averages_; }

 private:
  std::vector<torch::Tensor> parameters_, averages_;
  double decay_;
};

// While it lives, the parameters are the averages.
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
