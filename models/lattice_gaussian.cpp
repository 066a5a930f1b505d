// See lattice_gaussian.h.
#include "models/lattice_gaussian.h"

namespace isinglass {

LatticeGaussianModel::LatticeGaussianModel(const torch::Tensor& precision,
                                           const torch::Tensor& mean, int64_t categories)
    : precision_(register_buffer("precision", precision.to(torch::kFloat64))),
      mean_(register_buffer("mean", mean.to(torch::kFloat64))),
      categories_(categories) {}

torch::Tensor LatticeGaussianModel::energy(const torch::Tensor& x) {
  const torch::Tensor off = relaxed(x).to(torch::kFloat64) - mean_;
  return 0.5 * (off * off.matmul(precision_)).sum(1);
}

// ∂U/∂x = P (x − b)
void LatticeGaussianModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor off = relaxed(x).to(torch::kFloat64) - mean_, force = off.matmul(precision_);
  store(out.energy, 0.5 * (off * force).sum(1));
  store(out.gradient, force.to(torch::kFloat32));
}

// Δ_{i,k} = −(k − x_i) ∂_i U − ½ P_ii (k − x_i)²
void LatticeGaussianModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor v = relaxed(x).to(torch::kFloat64), off = v - mean_;
  const torch::Tensor force = off.matmul(precision_);
  store(out.energy, 0.5 * (off * force).sum(1));
  const torch::Tensor move = torch::arange(categories_, v.options()) - v.unsqueeze(2);
  const torch::Tensor curvature = 0.5 * precision_.diagonal().unsqueeze(1);
  store(out.differences, (-move * (force.unsqueeze(2) + curvature * move)).to(torch::kFloat32));
}

}  // namespace isinglass
