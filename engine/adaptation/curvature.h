// The mean curvature of log π over the moves of a chain: W ≈ ∇² log π, the least squares over
// symmetric matrices (docs/concepts/samplers.md; Sun, Dai, Sutton, Schuurmans & Dai 2023, eq. 10).
//
//   min over W = Wᵀ of Σ ‖W (y − x) − (s(y) − s(x))‖² + ρ‖W‖²,  ρ = 1e-6·tr(XᵀX)/D
//
// over accepted moves x → y, the rows y − x of X and s(y) − s(x) of S. Its normal equations are the
// Lyapunov equation M W + W M = XᵀS + SᵀX, M = XᵀX + ρI, solved in the eigenvectors of M. Only XᵀX
// and XᵀS are kept, never the pairs; every rank sums those of all, in their order, so that W has the
// bits of one process.
#pragma once

#include "engine/context.h"
#include "io/torch.h"

namespace isinglass {

class CurvatureEstimate {
 public:
  CurvatureEstimate(int64_t sites, torch::Device device);

  // Moves [B, D] of all ranks: states (uint8) and gradients of U (float32) before and after; chains
  // that did not move add nothing.
  void add(const torch::Tensor& x, const torch::Tensor& y, const torch::Tensor& gradient_x,
           const torch::Tensor& gradient_y, const Ranks& ranks = Ranks::alone());

  // W float64 [D, D], on the CPU; undefined if no chain has moved.
  torch::Tensor solve() const;

 private:
  torch::Tensor xx_, xs_;  // float64 [D, D]: XᵀX, XᵀS
};

}  // namespace isinglass
