// See ising.h.
#include "models/lattice/ising.h"

#include "models/parameter_file.h"
#include "models/registry.h"

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

namespace {

std::shared_ptr<EnergyModel> load_ising(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  const torch::Tensor field = reader.real("field", {-1});
  const torch::Tensor edges = read_edges(reader, field.size(0));
  const torch::Tensor coupling = reader.real("coupling", {edges.size(0)});
  reader.finish();
  return std::make_shared<IsingModel>(edges, coupling, field);
}

}  // namespace

std::vector<ModelEntry> ising_models() {
  return {{"ising", "-sum_i h_i z_i - sum_e J_e z_i z_j, z = 2x - 1",
           "edges int64 [E,2], coupling [E], field [D]", "binary", true, load_ising}};
}

}  // namespace isinglass
