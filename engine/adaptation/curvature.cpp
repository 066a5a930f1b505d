// See curvature.h.
#include "engine/adaptation/curvature.h"

namespace isinglass {

CurvatureEstimate::CurvatureEstimate(int64_t sites, torch::Device device) {
  xx_ = torch::zeros({sites, sites}, torch::TensorOptions(torch::kFloat64).device(device));
  xs_ = torch::zeros_like(xx_);
}

void CurvatureEstimate::add(const torch::Tensor& x, const torch::Tensor& y,
                            const torch::Tensor& gradient_x, const torch::Tensor& gradient_y) {
  const torch::Tensor move = y.to(torch::kFloat64) - x.to(torch::kFloat64);
  const torch::Tensor score = gradient_x.to(torch::kFloat64) - gradient_y.to(torch::kFloat64);
  xx_.addmm_(move.t(), move);
  xs_.addmm_(move.t(), score);
}

torch::Tensor CurvatureEstimate::solve(const Ranks& ranks) const {
  const torch::Tensor xx = ranks.sum(xx_).to(torch::kCPU), xs = ranks.sum(xs_).to(torch::kCPU);
  const double trace = xx.trace().item<double>();
  if (trace == 0) return {};
  const auto [eigenvalues, vectors] = torch::linalg_eigh(xx);
  const torch::Tensor m = eigenvalues.clamp_min(0) + 1e-6 * trace / static_cast<double>(xx.size(0));
  const torch::Tensor right = vectors.t().mm(xs + xs.t()).mm(vectors);
  const torch::Tensor w = vectors.mm(right / (m.unsqueeze(0) + m.unsqueeze(1))).mm(vectors.t());
  return (w + w.t()) / 2;
}

}  // namespace isinglass
