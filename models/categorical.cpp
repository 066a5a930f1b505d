// See categorical.h.
#include "models/categorical.h"

namespace isinglass {

CategoricalModel::CategoricalModel(const torch::Tensor& theta)
    : theta_(register_buffer("theta", theta.to(torch::kFloat64))) {}

torch::Tensor CategoricalModel::energy(const torch::Tensor& x) {
  return (relaxed(x).to(torch::kFloat64) * theta_).sum({1, 2});
}

ops::LatticeTensors CategoricalModel::make_lattice() const {
  return lattice_without_edges(theta_);
}

}  // namespace isinglass
