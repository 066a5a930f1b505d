// The rules of bound.h that need a solver, and the certification they share. W float64 [D,
// D] is symmetric and contiguous, on the CPU.
#pragma once

#include "engine/semidefinite/bound.h"

namespace isinglass {

struct Certificate {
  torch::Tensor diagonal;  // d raised by a constant so that W + D ≻ 0
  torch::Tensor root;      // AᵀA = W + D
  double margin;           // δ: what certification alone may cost a site
};
// norm: an estimate of ‖W‖, computed once for many d. Throws NumericalError if d is not finite.
Certificate certify(const torch::Tensor& W, const torch::Tensor& d, double norm);
double spectral_norm(const torch::Tensor& W);

DiagonalBound trace_rule(const torch::Tensor& W);
DiagonalBound max_rule(const torch::Tensor& W);

}  // namespace isinglass
