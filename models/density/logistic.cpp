// Implements the posterior's energy, gradient and flip differences.
#include "models/density/logistic.h"

#include "io/error.h"
#include "models/network/softplus_units.h"
#include "models/parameter_file.h"
#include "models/registry.h"

namespace isinglass {

LogisticModel::LogisticModel(const torch::Tensor& x, const torch::Tensor& y)
    : signed_(register_buffer(
          "signed", (1 - 2 * y.to(torch::kFloat64)).unsqueeze(1) * x.to(torch::kFloat64))) {}

torch::Tensor LogisticModel::inputs(const torch::Tensor& beta) const {
  return relaxed(beta).to(torch::kFloat64).matmul(signed_.t());
}

torch::Tensor LogisticModel::energy(const torch::Tensor& beta) {
  return torch::softplus(inputs(beta)).sum(1);
}

// Computes ∂U/∂β = σ((1 − 2y) X β)ᵀ (1 − 2y) X.
void LogisticModel::evaluate(const torch::Tensor& beta, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor a = inputs(beta);
  store(out.energy, torch::softplus(a).sum(1));
  store(out.gradient, torch::sigmoid(a).matmul(signed_).to(torch::kFloat32));
}

void LogisticModel::evaluate_differences(const torch::Tensor& beta, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor a = inputs(beta), flip = 1 - 2 * relaxed(beta).to(torch::kFloat64);
  store(out.energy, torch::softplus(a).sum(1));
  store(out.differences, (-softplus_changes(a, flip, signed_)).to(torch::kFloat32));
}

namespace {

std::shared_ptr<EnergyModel> load_logistic(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const torch::Tensor x = reader.real("X", {-1, -1}), y = reader.real("y", {x.size(0)});
  reader.finish();
  require(!((y == -1) | (y == 1)).all().item<bool>() || !(y == -1).any().item<bool>(),
          "{}: tensor 'y' holds the labels -1 and 1; it must hold 0 and 1, which are (y + 1) / 2",
          reader.source());
  require(((y == 0) | (y == 1)).all().item<bool>(),
          "{}: tensor 'y' must hold 0 and 1 only, the labels of two classes", reader.source());
  return std::make_shared<LogisticModel>(x, y);
}

}  // namespace

std::vector<ModelEntry> logistic_models() {
  return {{"logistic", "sum_m softplus((1 - 2y_m) X_m.x)", "X [M,D], y [M]", "binary", true,
           load_logistic}};
}

}  // namespace isinglass
