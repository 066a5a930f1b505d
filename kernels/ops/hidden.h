// Tensors of hidden.h: the hidden units of an RBM.
#pragma once

#include "io/torch.h"

namespace isinglass::ops {

using torch::Tensor;

struct HiddenTensors {
  Tensor by_visible;      // Wᵀ float32 [D, H]
  Tensor visible_biases;  // float32 [D]
  Tensor hidden_biases;   // float32 [H]
};

// y uint8 [B, D]; x uint8 [B, D] and its inputs float64 [B, H], both undefined where no evaluation
// is known. Writes inputs float64 [B, H], energy float64 [B] and σ(inputs) float32 [B, H], which
// may be undefined.
void move_hidden(const HiddenTensors& weights, const Tensor& x, const Tensor& inputs_at_x,
                 const Tensor& y, Tensor& inputs, Tensor& energy, const Tensor& on);

}  // namespace isinglass::ops
