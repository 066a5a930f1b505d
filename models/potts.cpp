// See potts.h.
#include "models/potts.h"

namespace isinglass {

PottsModel::PottsModel(const torch::Tensor& edges, const torch::Tensor& coupling,
                       const torch::Tensor& field)
    : edges_(register_buffer("edges", edges)),
      coupling_(register_buffer("coupling", coupling.to(torch::kFloat64))),
      field_(register_buffer("field", field.to(torch::kFloat64))) {}

torch::Tensor PottsModel::energy(const torch::Tensor& x) {
  const torch::Tensor one_hot = relaxed(x).to(torch::kFloat64);
  const torch::Tensor ends = edges_.to(torch::kInt64);  // Module::to(dtype) casts buffers as well
  const torch::Tensor equal =
      (one_hot.index_select(1, ends.select(1, 0)) * one_hot.index_select(1, ends.select(1, 1)))
          .sum(-1);
  return -(one_hot * field_).sum({1, 2}) - equal.matmul(coupling_);
}

ops::LatticeTensors PottsModel::make_lattice() const {
  return lattice_from_edges(-field_, edges_, coupling_, 0);
}

}  // namespace isinglass
