// See bernoulli.h.
#include "models/bernoulli.h"

namespace isinglass {

BernoulliModel::BernoulliModel(const torch::Tensor& theta)
    : theta_(register_buffer("theta", theta.to(torch::kFloat64))) {}

torch::Tensor BernoulliModel::energy(const torch::Tensor& x) {
  return relaxed(x).to(torch::kFloat64).matmul(theta_);
}

ops::LatticeTensors BernoulliModel::make_lattice() const {
  return lattice_without_edges(torch::stack({torch::zeros_like(theta_), theta_}, 1));
}

}  // namespace isinglass
