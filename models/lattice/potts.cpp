// Implements the Potts model as a lattice.
#include "models/lattice/potts.h"

#include "models/parameter_file.h"
#include "models/registry.h"

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

namespace {

std::shared_ptr<EnergyModel> load_potts(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const torch::Tensor field = reader.real("field", {-1, -1});
  check_categories(reader, "field", field);
  const torch::Tensor edges = read_edges(reader, field.size(0));
  const torch::Tensor coupling = reader.real("coupling", {edges.size(0)});
  reader.finish();
  return std::make_shared<PottsModel>(edges, coupling, field);
}

}  // namespace

std::vector<ModelEntry> potts_models() {
  return {{"potts", "-sum_i theta_{i,x_i} - sum_e J_e [x_i = x_j]",
           "edges int64 [E,2], coupling [E], field [D,K]", "categorical", true, load_potts}};
}

}  // namespace isinglass
