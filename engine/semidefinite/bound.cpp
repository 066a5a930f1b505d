// Implements the certification of a diagonal, the shift rule and the choice of the rule.
#include "engine/semidefinite/bound.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/semidefinite/diagonal_rules.h"
#include "io/error.h"
#include "kernels/random/normal.h"

namespace isinglass {
namespace {

constexpr int64_t kLanczosSteps = 160;
constexpr double kMargin = 1e-6;  // δ, relative to max(1, ‖W‖)

void require_symmetric(const torch::Tensor& w) {
  require(w.dim() == 2 && w.size(0) == w.size(1) && w.size(0) > 0,
          "a curvature must be a square matrix");
  require(torch::isfinite(w).all().item<bool>(), "a curvature must hold finite numbers");
  require((w - w.t()).abs().max().item<double>() <= 1e-9 * w.abs().max().item<double>(),
          "a curvature must be symmetric");
}

// Returns the upper triangular A with AᵀA = matrix; undefined if the matrix is not positive
// definite.
torch::Tensor upper_root(const torch::Tensor& matrix) {
  const auto [upper, info] = torch::linalg_cholesky_ex(matrix, /*upper=*/true);
  return info.item<int64_t>() == 0 ? upper.contiguous() : torch::Tensor();
}

torch::Tensor start_vector(int64_t n) {
  torch::Tensor v = torch::empty({n}, torch::kFloat64);
  double* values = v.mutable_data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    values[i] = standard_normal({0, 0, 0}, Purpose::kNoise, static_cast<uint32_t>(i));
  }
  return v / v.norm();
}

// Returns the extreme eigenvalues of the symmetric tridiagonal matrix with that diagonal and
// off-diagonal.
Spectrum extreme_eigenvalues(const std::vector<double>& diagonal,
                             const std::vector<double>& beside) {
  const auto m = static_cast<int64_t>(diagonal.size());
  torch::Tensor t = torch::zeros({m, m}, torch::kFloat64);
  auto entries = t.accessor<double, 2>();
  for (int64_t i = 0; i < m; ++i) {
    entries[i][i] = diagonal[i];
    if (i + 1 < m) entries[i][i + 1] = entries[i + 1][i] = beside[i];
  }
  const torch::Tensor values = torch::linalg_eigvalsh(t);
  return {values[0].item<double>(), values[m - 1].item<double>()};
}

}  // namespace

Spectrum lanczos_spectrum(const torch::Tensor& matrix) {
  const int64_t n = matrix.size(0), steps = std::min(n, kLanczosSteps);
  const double tiny = 1e-13 * (1e-300 + matrix.norm().item<double>());
  torch::Tensor basis = torch::zeros({steps, n}, torch::kFloat64);
  std::vector<double> diagonal, beside;
  torch::Tensor q = start_vector(n);
  for (int64_t k = 0; k < steps; ++k) {
    basis[k].copy_(q);
    torch::Tensor next = matrix.mv(q);
    diagonal.push_back(next.dot(q).item<double>());
    const torch::Tensor known = basis.narrow(0, 0, k + 1);
    for (int pass = 0; pass < 2; ++pass) next -= known.t().mv(known.mv(next));
    beside.push_back(next.norm().item<double>());
    if (beside.back() <= tiny) break;  // the basis spans an invariant subspace
    q = next / beside.back();
  }
  return extreme_eigenvalues(diagonal, beside);
}

torch::Tensor gaussian_root(const torch::Tensor& W, const torch::Tensor& d) {
  require_symmetric(W);
  require(d.dim() == 1 && d.size(0) == W.size(0),
          "a curvature and its diagonal must have the same size");
  require((d >= 0).all().item<bool>(), "the diagonal D must not be negative");
  torch::Tensor root = upper_root(W + torch::diag(d));
  require(root.defined(), "W + D is not positive definite");
  return root;
}

double spectral_norm(const torch::Tensor& W) {
  const Spectrum own = lanczos_spectrum(W);
  return std::max(std::abs(own.least), std::abs(own.most));
}

Certificate certify(const torch::Tensor& W, const torch::Tensor& d, double norm) {
  // No margin could repair such a diagonal.
  if (!torch::isfinite(d).all().item<bool>()) {
    throw NumericalError("the diagonal found for a curvature is not finite");
  }
  double margin = kMargin * std::max(1.0, norm);
  const double least = lanczos_spectrum(W + torch::diag(d)).least;
  for (;; margin *= 2) {
    const torch::Tensor shifted = d + std::max(0.0, margin - least);
    torch::Tensor root = upper_root(W + torch::diag(shifted));
    if (root.defined()) return {shifted, root, margin};
  }
}

namespace {

DiagonalBound shift_rule(const torch::Tensor& W) {
  const Spectrum own = lanczos_spectrum(W);
  const double least = std::max(0.0, -own.least);
  const Certificate sure = certify(W, torch::full({W.size(0)}, least, W.options()),
                                   std::max(std::abs(own.least), std::abs(own.most)));
  const double value = sure.diagonal[0].item<double>();
  return {sure.diagonal, sure.root, value, value - least};
}

}  // namespace

DiagonalBound bound_diagonal(const torch::Tensor& W, DiagonalRule rule) {
  require_symmetric(W);
  const torch::Tensor w = W.to(torch::kFloat64).contiguous();
  switch (rule) {
    case DiagonalRule::kMax:
      return max_rule(w);
    case DiagonalRule::kTrace:
      return trace_rule(w);
    case DiagonalRule::kShift:
      break;
  }
  return shift_rule(w);
}

}  // namespace isinglass
