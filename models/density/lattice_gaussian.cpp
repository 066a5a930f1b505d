// Implements the energy, gradient and differences in closed form.
#include "models/density/lattice_gaussian.h"

#include <algorithm>

#include "io/error.h"
#include "models/parameter_file.h"
#include "models/registry.h"

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

// Computes ∂U/∂x = P (x − b).
void LatticeGaussianModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor off = relaxed(x).to(torch::kFloat64) - mean_, force = off.matmul(precision_);
  store(out.energy, 0.5 * (off * force).sum(1));
  store(out.gradient, force.to(torch::kFloat32));
}

// Computes Δ_{i,k} = −(k − x_i) ∂_i U − ½ P_ii (k − x_i)².
void LatticeGaussianModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor v = relaxed(x).to(torch::kFloat64), off = v - mean_;
  const torch::Tensor force = off.matmul(precision_);
  store(out.energy, 0.5 * (off * force).sum(1));
  const torch::Tensor move = torch::arange(categories_, v.options()) - v.unsqueeze(2);
  const torch::Tensor curvature = 0.5 * precision_.diagonal().unsqueeze(1);
  store(out.differences, (-move * (force.unsqueeze(2) + curvature * move)).to(torch::kFloat32));
}

// Computes −Δ for one site per chain, from the site's row of P.
void LatticeGaussianModel::conditional_differences(const torch::Tensor& x,
                                                   const torch::Tensor& site, torch::Tensor& out) {
  const torch::Tensor v = x.to(torch::kFloat64), row = precision_.index_select(0, site);
  const torch::Tensor force = ((v - mean_) * row).sum(1, /*keepdim=*/true);
  const torch::Tensor move =
      torch::arange(categories_, v.options()) - v.gather(1, site.unsqueeze(1));
  const torch::Tensor curvature = 0.5 * row.gather(1, site.unsqueeze(1));
  store(out, move * (force + curvature * move));
}

namespace {

std::shared_ptr<EnergyModel> load_lattice_gaussian(const ModelOptions& options) {
  const int64_t categories = needed_categories(options, "lattice-gaussian");
  ParameterReader reader = options.reader();
  const torch::Tensor mean = reader.real("mean", {-1});
  const torch::Tensor precision = reader.real("precision", {mean.size(0), mean.size(0)});
  reader.finish();
  const torch::Tensor p = precision.to(torch::kFloat64);
  const double asymmetry = p.numel() > 0 ? (p - p.t()).abs().max().item<double>() : 0;
  const torch::Tensor info = std::get<1>(torch::linalg_cholesky_ex(p));
  require(asymmetry <= 1e-6 * std::max(1.0, p.abs().max().item<double>()) && info.item<int>() == 0,
          "{}: tensor 'precision' is not symmetric positive definite", reader.source());
  return std::make_shared<LatticeGaussianModel>(0.5 * (p + p.t()), mean, categories);
}

}  // namespace

std::vector<ModelEntry> lattice_gaussian_models() {
  return {{"lattice-gaussian", "(x - b).P (x - b)/2",
           "precision [D,D], mean [D]; and `categories` K", "ordered", true,
           load_lattice_gaussian}};
}

}  // namespace isinglass
