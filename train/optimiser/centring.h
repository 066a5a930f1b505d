// Centred steps of a restricted Boltzmann machine (Montavon & Müller 2012; Melchior, Fischer &
// Wiskott, "How to center deep Boltzmann machines", JMLR 17, 2016, section 2): the optimiser works in
// parameters in which the gradient of W is a covariance.
//
// With offsets μ [D] of the visible and λ [H] of the hidden units, the energy
//   E(v, h) = −(v − μ)·b − (h − λ)·c − (h − λ)ᵀ W (v − μ)
// is, but for a constant, that of the machine with b_v = b − Wᵀλ and b_h = c − W μ. So
//   gradient  g_W = ∂L/∂W − λ ⊗ ∂L/∂b_v − ∂L/∂b_h ⊗ μ,  g_b = ∂L/∂b_v,  g_c = ∂L/∂b_h
//   step      W += ΔW,  b_v += Δb − ΔWᵀ λ,  b_h += Δc − ΔW μ
// The offsets are moving averages of the means over the data of v and of E[h | v]; a change of them
// changes neither the energy nor W, b_v and b_h.
#pragma once

#include "io/pt/pt_file.h"
#include "io/torch.h"
#include "models/network/rbm.h"

namespace isinglass {

class Centring {
 public:
  // Binary units; the machine outlives this. The offsets begin at data_mean [D] and 1/2.
  Centring(const RbmModel& machine, const torch::Tensor& data_mean);

  // Moves the offsets by a hundredth towards the means at a batch of data, uint8 [B, D].
  void follow(const torch::Tensor& data);

  // The parameters' gradients, into those of W, b, c.
  void before_step();
  // The parameters, which an optimiser moved by ΔW, Δb, Δc since before_step(). skip: float32 [];
  // where it is 1 there was no step, and the offsets go back to where they were before follow().
  void after_step(const torch::Tensor& skip = {});

  // Float32 [D] and [H], its own.
  NamedTensors offsets() const { return {{"visible", visible_}, {"hidden", hidden_}}; }

 private:
  const RbmModel& machine_;
  torch::Tensor w_, b_v_, b_h_;                   // its own
  torch::Tensor visible_, hidden_;                // μ, λ
  torch::Tensor visible_before_, hidden_before_;  // follow()
  torch::Tensor before_;                          // W before the step
};

}  // namespace isinglass
