// Implements the mixture's energy and gradient, in blocks of states that bound the memory.
#include "models/density/gaussian_mixture.h"

#include <algorithm>
#include <cmath>

#include "io/error.h"
#include "models/density/precision.h"
#include "models/registry.h"

namespace isinglass {
namespace {

constexpr double kLogTwoPi = 1.8378770664093454836;
constexpr int64_t kTerms = 1 << 20;  // numbers of [C, B, D] in memory at a time

}  // namespace

GaussianMixtureModel::GaussianMixtureModel(const torch::Tensor& weights, const torch::Tensor& means,
                                           const torch::Tensor& precision)
    : means_(register_buffer("means", means.to(torch::kFloat64))),
      precision_(register_buffer("precision", precision.to(torch::kFloat64))) {
  const double sites = static_cast<double>(means.size(1));
  log_scale_ = register_buffer("log_scale", weights.to(torch::kFloat64).log() +
                                                0.5 * log_determinants(precision_) -
                                                0.5 * sites * kLogTwoPi);
}

GaussianMixtureModel::Terms GaussianMixtureModel::terms(const torch::Tensor& x) const {
  const torch::Tensor difference = x.to(torch::kFloat64).unsqueeze(0) - means_.unsqueeze(1);
  const torch::Tensor force = times_precision(precision_, difference);
  return {log_scale_.unsqueeze(1) - 0.5 * (difference * force).sum(2), force};
}

torch::Tensor GaussianMixtureModel::energy(const torch::Tensor& x) {
  return -terms(x).log_density.logsumexp(0);
}

void GaussianMixtureModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  evaluate_blocks(x, /*gradient=*/false, out);
}

void GaussianMixtureModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  evaluate_blocks(x, /*gradient=*/true, out);
}

void GaussianMixtureModel::evaluate_blocks(const torch::Tensor& x, bool gradient,
                                           Evaluation& out) const {
  torch::NoGradGuard no_grad;
  const int64_t block = std::max<int64_t>(1, kTerms / means_.numel());
  std::vector<torch::Tensor> energies, gradients;
  for (int64_t first = 0; first == 0 || first < x.size(0); first += block) {
    const Terms at = terms(x.slice(0, first, first + block));
    energies.push_back(-at.log_density.logsumexp(0));
    if (!gradient) continue;
    const torch::Tensor share = at.log_density.softmax(0).unsqueeze(2);
    gradients.push_back((share * at.force).sum(0));
  }
  store(out.energy, torch::cat(energies));
  if (gradient) store(out.gradient, torch::cat(gradients).to(torch::kFloat32));
}

namespace {

constexpr double kWeightError = 1e-4;  // tolerance for a sum of float32 weights

std::shared_ptr<EnergyModel> load_gaussian_mixture(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const torch::Tensor means = reader.real("means", {-1, -1});
  const torch::Tensor weights = reader.real("weights", {means.size(0)}).to(torch::kFloat64);
  const torch::Tensor precision = read_precision(reader, {means.size(0)}, means.size(1));
  reader.finish();
  const double sum = weights.sum().item<double>();
  require((weights > 0).all().item<bool>() && std::abs(sum - 1) <= kWeightError,
          "{}: tensor 'weights' must hold positive numbers that sum to 1; they sum to {}",
          reader.source(), sum);
  return std::make_shared<GaussianMixtureModel>(weights / sum, means, precision);
}

}  // namespace

std::vector<ModelEntry> gaussian_mixture_models() {
  return {{"gaussian-mixture", "-log sum_c w_c N(x; m_c, P_c^-1)",
           "weights w [C], means m [C,D], precision P [C,D,D] or diagonals [C,D]", "continuous",
           true, load_gaussian_mixture}};
}

}  // namespace isinglass
