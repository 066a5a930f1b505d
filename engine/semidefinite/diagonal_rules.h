// The rules of bound.h that need an iterative solver, and the certification that all rules share. W
// is float64 [D, D], symmetric and contiguous, on the CPU.
#pragma once

#include "engine/semidefinite/bound.h"

namespace isinglass {

struct Certificate {
  torch::Tensor diagonal;  // d, raised by a constant so that W + D ≻ 0
  torch::Tensor root;      // AᵀA = W + D
  double margin;           // δ: the most that certification adds to a site's d beyond −λ_min
};
// Certifies d. norm: an estimate of ‖W‖, which callers compute once for many d. Throws
// NumericalError if d is not finite.
Certificate certify(const torch::Tensor& W, const torch::Tensor& d, double norm);
double spectral_norm(const torch::Tensor& W);

DiagonalBound trace_rule(const torch::Tensor& W);
DiagonalBound max_rule(const torch::Tensor& W);

}  // namespace isinglass
