// Implements the least-squares estimate of the curvature.
#include "engine/adaptation/curvature.h"

namespace isinglass {

CurvatureEstimate::CurvatureEstimate(int64_t sites, torch::Device device) {
  xx_ = torch::zeros({sites, sites}, torch::TensorOptions(torch::kFloat64).device(device));
  xs_ = torch::zeros_like(xx_);
}

void CurvatureEstimate::add(const torch::Tensor& x, const torch::Tensor& y,
                            const torch::Tensor& gradient_x, const torch::Tensor& gradient_y,
                            const Ranks& ranks) {
  const auto all = [&](const torch::Tensor& rows) {
    return ranks.gather(rows).to(torch::kFloat64);
  };
  const torch::Tensor move = all(y) - all(x);
  const torch::Tensor score = all(gradient_x) - all(gradient_y);
  xx_.addmm_(move.t(), move);
  xs_.addmm_(move.t(), score);
}

torch::Tensor CurvatureEstimate::solve() const {
  const torch::Tensor xx = xx_.to(torch::kCPU), xs = xs_.to(torch::kCPU);
  const double trace = xx.trace().item<double>();
  if (trace == 0) return {};
  const auto [eigenvalues, vectors] = torch::linalg_eigh(xx);
  const torch::Tensor m = eigenvalues.clamp_min(0) + 1e-6 * trace / static_cast<double>(xx.size(0));
  const torch::Tensor right = vectors.t().mm(xs + xs.t()).mm(vectors);
  const torch::Tensor w = vectors.mm(right / (m.unsqueeze(0) + m.unsqueeze(1))).mm(vectors.t());
  return (w + w.t()) / 2;
}

}  // namespace isinglass
