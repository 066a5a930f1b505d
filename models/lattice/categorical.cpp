// Implements independent categorical sites as a lattice without edges.
#include "models/lattice/categorical.h"

#include "models/parameter_file.h"
#include "models/registry.h"

namespace isinglass {

CategoricalModel::CategoricalModel(const torch::Tensor& theta)
    : theta_(register_buffer("theta", theta.to(torch::kFloat64))) {}

torch::Tensor CategoricalModel::energy(const torch::Tensor& x) {
  return (relaxed(x).to(torch::kFloat64) * theta_).sum({1, 2});
}

ops::LatticeTensors CategoricalModel::make_lattice() const {
  return lattice_without_edges(theta_);
}

namespace {

std::shared_ptr<EnergyModel> load_categorical(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const torch::Tensor theta = reader.real("theta", {-1, -1});
  reader.finish();
  check_categories(reader, "theta", theta);
  return std::make_shared<CategoricalModel>(theta);
}

}  // namespace

std::vector<ModelEntry> categorical_models() {
  return {
      {"categorical", "sum_i theta_{i,x_i}", "theta [D,K]", "categorical", true, load_categorical}};
}

}  // namespace isinglass
