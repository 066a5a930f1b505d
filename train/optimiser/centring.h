// Centred steps of a restricted Boltzmann machine (Montavon & Müller 2012; Melchior, Fischer &
// Wiskott, "How to center deep Boltzmann machines", JMLR 17, 2016, section 2): the optimiser works
// in parameters in which the gradient of W is a covariance.
//
// With offsets μ [D] of the visible and λ [H] of the hidden units, the energy
//   E(v, h) = −(v − μ)·b − (h − λ)·c − (h − λ)ᵀ W (v − μ)
// equals, up to a constant, that of the machine with b_v = b − Wᵀλ and b_h = c − W μ. Therefore
//   gradient  g_W = ∂L/∂W − λ ⊗ ∂L/∂b_v − ∂L/∂b_h ⊗ μ,  g_b = ∂L/∂b_v,  g_c = ∂L/∂b_h
//   step      W += ΔW,  b_v += Δb − ΔWᵀ λ,  b_h += Δc − ΔW μ
// The offsets are moving averages of the means over the data of v and of E[h | v]. Changing them
// changes neither the energy nor W, b_v and b_h.
#pragma once

#include "io/pt/pt_file.h"
#include "io/torch.h"
#include "models/network/rbm.h"

namespace isinglass {

class Centring {
 public:
  // The machine must have binary units and outlive this object. The offsets start at data_mean [D]
  // and 1/2.
  Centring(const RbmModel& machine, const torch::Tensor& data_mean);

  // Moves the offsets by a hundredth of the way to the means of a batch of data, uint8 [B, D].
  void follow(const torch::Tensor& data);

  // Converts the gradients of the parameters to those of W, b, c.
  void before_step();
  // Corrects the parameters, which an optimiser moved by ΔW, Δb, Δc since before_step(). skip:
  // float32 []. If it is 1, no step was made, and the offsets return to their values before
  // follow().
  void after_step(const torch::Tensor& skip = {});

  // Returns the offsets μ, float32 [D], and λ, float32 [H], as the tensors themselves, not copies.
  NamedTensors offsets() const { return {{"visible", visible_}, {"hidden", hidden_}}; }

 private:
  const RbmModel& machine_;
  torch::Tensor w_, b_v_, b_h_;                   // the machine's own parameters
  torch::Tensor visible_, hidden_;                // μ, λ
  torch::Tensor visible_before_, hidden_before_;  // values before follow()
  torch::Tensor before_;                          // W before the step
};

}  // namespace isinglass
