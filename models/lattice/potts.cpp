// Implements the Potts model as a lattice (kernels/lattice/lattice.h).
#include "models/lattice/potts.h"

#include "models/parameter_file.h"
#include "models/registry.h"

namespace isinglass {

PottsModel::PottsModel(const torch::Tensor& edges, const torch::Tensor& coupling,
                       const torch::Tensor& field)
    : edges_(register_buffer("edges", edges)),
      coupling_(register_buffer("coupling", coupling.to(torch::kFloat64))),
      field_(register_buffer("field", field.to(torch::kFloat64))) {}

torch::Tensor PottsModel::pair_energy(const torch::Tensor& one_hot) const {
  const torch::Tensor ends = edges_.to(torch::kInt64);  // Module::to(dtype) casts buffers as well
  const torch::Tensor first = one_hot.index_select(1, ends.select(1, 0));
  const torch::Tensor second = one_hot.index_select(1, ends.select(1, 1));
  if (coupling_.dim() == 1) return (first * second).sum(-1).matmul(coupling_);
  // Multiplies the rows of each edge, [E, B, K], with its table, [E, K, K].
  const torch::Tensor products = first.transpose(0, 1).bmm(coupling_);
  return (products * second.transpose(0, 1)).sum(at::IntArrayRef{0, 2});
}

torch::Tensor PottsModel::energy(const torch::Tensor& x) {
  const torch::Tensor one_hot = relaxed(x).to(torch::kFloat64);
  return -(one_hot * field_).sum({1, 2}) - pair_energy(one_hot);
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
  const int64_t count = edges.size(0), values = field.size(1);
  const torch::Tensor coupling = reader.has("coupling") && reader.rank("coupling") == 3
                                     ? reader.real("coupling", {count, values, values})
                                     : reader.real("coupling", {count});
  reader.finish();
  return std::make_shared<PottsModel>(edges, coupling, field);
}

}  // namespace

std::vector<ModelEntry> potts_models() {
  return {{"potts", "-sum_i theta_{i,x_i} - sum_e J_e [x_i = x_j], or J_e[x_i, x_j] with tables",
           "edges int64 [E,2], coupling [E] or [E,K,K], field [D,K]", "categorical", true,
           load_potts}};
}

}  // namespace isinglass
