// Diagonals D ⪰ 0 that make a symmetric W positive semidefinite, W + D ⪰ 0, as the any-scale
// samplers need them (docs/concepts/samplers.md; Sun, Dai, Sutton, Schuurmans & Dai 2023, eq. 18–19
// and A.1).
//
//   shift  D = λI, λ = max(0, −λ_min(W))
//   max    minimises λ_max(W + D); among those D, to 1e-3, it minimises the trace
//   trace  minimises tr D
//
// Every D is certified: d ← d + max(0, δ − λ)·1, where λ is the Lanczos estimate of λ_min(W + D)
// and δ = 1e-6·max(1, ‖W‖) is doubled until a Cholesky factorisation of W + D succeeds.
#pragma once

#include "io/torch.h"

namespace isinglass {

enum class DiagonalRule { kShift, kMax, kTrace };

struct DiagonalBound {
  torch::Tensor diagonal;  // float64 [D]: the diagonal of D
  torch::Tensor root;      // float64 [D, D]: A with AᵀA = W + D, upper triangular
  double value;            // the objective of the rule: λ, λ_max(W + D) or tr D
  double gap;              // ≥ 0: the value minus a lower bound of the optimum
};

// Returns D by that rule. W is float64 [D, D], symmetric, on the CPU. Throws Error if it is not
// square, symmetric and finite.
DiagonalBound bound_diagonal(const torch::Tensor& W, DiagonalRule rule);

// Returns A with AᵀA = W + D, by Cholesky. Throws Error if d has a negative entry or W + D is not
// positive definite.
torch::Tensor gaussian_root(const torch::Tensor& W, const torch::Tensor& d);

// Estimates the extreme eigenvalues of a symmetric matrix by Lanczos iterations: least ≥ λ_min and
// most ≤ λ_max.
struct Spectrum {
  double least, most;
};
Spectrum lanczos_spectrum(const torch::Tensor& matrix);

}  // namespace isinglass
