// Estimates the mean curvature of log π over the moves of the chains, W ≈ ∇² log π, by least
// squares over symmetric matrices (docs/concepts/samplers.md; Sun, Dai, Sutton, Schuurmans & Dai
// 2023, eq. 10).
//
//   min over W = Wᵀ of Σ ‖W (y − x) − (s(y) − s(x))‖² + ρ‖W‖²,  ρ = 1e-6·tr(XᵀX)/D
//
// The sum is over accepted moves x → y; the rows of X are y − x and those of S are s(y) − s(x). The
// normal equations are the Lyapunov equation M W + W M = XᵀS + SᵀX, M = XᵀX + ρI, which is solved
// in the eigenvectors of M. Only XᵀX and XᵀS are kept, never the pairs. Every rank adds the moves
// of all ranks in the same order, so that W has the bits of a single process.
#pragma once

#include "engine/context.h"
#include "io/torch.h"

namespace isinglass {

class CurvatureEstimate {
 public:
  CurvatureEstimate(int64_t sites, torch::Device device);

  // Adds the moves [B, D] of all ranks: states (uint8) and gradients of U (float32) before and
  // after. Chains that did not move add nothing.
  void add(const torch::Tensor& x, const torch::Tensor& y, const torch::Tensor& gradient_x,
           const torch::Tensor& gradient_y, const Ranks& ranks = Ranks::single_process());

  // Returns W, float64 [D, D], on the CPU; undefined if no chain has moved.
  torch::Tensor solve() const;

 private:
  torch::Tensor xx_, xs_;  // float64 [D, D]: XᵀX, XᵀS
};

}  // namespace isinglass
