// Classifiers f of states: their energy is that of one class y, U(x) = −f(x)[y].
#pragma once

#include "io/torch.h"

namespace isinglass {

class HasLogits {
 public:
  virtual ~HasLogits() = default;
  virtual torch::Tensor logits(const torch::Tensor& x) = 0;  // f(x) [B, C], as energy() takes x
};

}  // namespace isinglass
