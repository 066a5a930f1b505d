// See ising.h.
#include "models/ising.h"

namespace isinglass {

IsingModel::IsingModel(const torch::Tensor& edges, const torch::Tensor& coupling,
                       const torch::Tensor& field)
    : edges_(register_buffer("edges", edges)),
      coupling_(register_buffer("coupling", coupling.to(torch::kFloat64))),
      field_(register_buffer("field", field.to(torch::kFloat64))) {}

torch::Tensor IsingModel::energy(const torch::Tensor& x) {
  const torch::Tensor z = 2 * relaxed(x).to(torch::kFloat64) - 1;
  const torch::Tensor ends = edges_.to(torch::kInt64);  // Module::to(dtype) casts buffers as well
  const torch::Tensor pairs =
      z.index_select(1, ends.select(1, 0)) * z.index_select(1, ends.select(1, 1));
  return -z.matmul(field_) - pairs.matmul(coupling_);
}

ops::LatticeTensors IsingModel::make_lattice() const {
  return lattice_from_edges(torch::stack({field_, -field_}, 1), edges_, 2 * coupling_,
                            coupling_.sum().item<double>());
}

}  // namespace isinglass
