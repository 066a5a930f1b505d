// Interface of classifiers f of states. The energy of a classifier is that of one class y:
// U(x) = −f(x)[y].
#pragma once

#include "io/torch.h"

namespace isinglass {

class HasLogits {
 public:
  virtual ~HasLogits() = default;
  // Returns f(x) [B, C] for states or relaxed states x, as energy() takes them.
  virtual torch::Tensor logits(const torch::Tensor& x) = 0;
};

}  // namespace isinglass
