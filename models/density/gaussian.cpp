// Implements the normal distribution's energy and gradient in closed form.
#include "models/density/gaussian.h"

#include "models/density/precision.h"
#include "models/registry.h"

namespace isinglass {

GaussianModel::GaussianModel(const torch::Tensor& mean, const torch::Tensor& precision)
    : mean_(register_buffer("mean", mean.to(torch::kFloat64))),
      precision_(register_buffer("precision", precision.to(torch::kFloat64))) {}

torch::Tensor GaussianModel::energy(const torch::Tensor& x) {
  const torch::Tensor difference = x.to(torch::kFloat64) - mean_;
  return 0.5 * (difference * times_precision(precision_, difference)).sum(1);
}

void GaussianModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor difference = x.to(torch::kFloat64) - mean_;
  const torch::Tensor gradient = times_precision(precision_, difference);
  store(out.energy, 0.5 * (difference * gradient).sum(1));
  store(out.gradient, gradient.to(torch::kFloat32));
}

namespace {

std::shared_ptr<EnergyModel> load_gaussian(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const torch::Tensor mean = reader.real("mean", {-1});
  const torch::Tensor precision = read_precision(reader, {}, mean.size(0));
  reader.finish();
  return std::make_shared<GaussianModel>(mean, precision);
}

}  // namespace

std::vector<ModelEntry> gaussian_models() {
  return {{"gaussian", "1/2 (x - m)' P (x - m)",
           "mean m [D], precision P [D,D] or its diagonal [D]", "continuous", true, load_gaussian}};
}

}  // namespace isinglass
