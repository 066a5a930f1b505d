// Implements the Ising model as a lattice (kernels/lattice/lattice.h), with couplings that can be
// trained.
#include "models/lattice/ising.h"

#include <array>

#include "models/lattice/quadratic.h"
#include "models/lattice/text_lines.h"
#include "models/parameter_file.h"
#include "models/registry.h"

namespace isinglass {

namespace {

// Returns true if the dense matrix of all pairs costs at most a few times the list of edges. A
// matrix product is then much faster than a gather.
bool dense(int64_t sites, int64_t edges) {
  return 8 * edges >= sites * sites;
}

}  // namespace

IsingModel::IsingModel(const torch::Tensor& edges, const torch::Tensor& coupling,
                       const torch::Tensor& field, bool learns_field)
    : edges_(register_buffer("edges", edges)),
      coupling_(register_parameter("coupling", coupling.to(torch::kFloat64).clone())),
      field_(register_parameter("field", field.to(torch::kFloat64).clone(), learns_field)) {}

torch::Tensor IsingModel::pair_energy(const torch::Tensor& z) const {
  const torch::Tensor ends = edges_.to(torch::kInt64);  // Module::to(dtype) casts buffers as well
  const torch::Tensor from = ends.select(1, 0), to = ends.select(1, 1);
  const int64_t sites = z.size(1);
  if (!dense(sites, ends.size(0))) {
    return (z.index_select(1, from) * z.index_select(1, to)).matmul(coupling_);
  }
  const torch::Tensor matrix = torch::zeros({sites * sites}, coupling_.options())
                                   .index_add(0, from * sites + to, coupling_)
                                   .view({sites, sites});
  return (z.matmul(matrix) * z).sum(1);
}

torch::Tensor IsingModel::energy(const torch::Tensor& x) {
  const torch::Tensor z = 2 * relaxed(x).to(torch::kFloat64) - 1;
  return -z.matmul(field_) - pair_energy(z);
}

ops::LatticeTensors IsingModel::make_lattice() const {
  const LatticeGraph& graph =
      graph_.get(std::array{edges_}, [&] { return graph_of_edges(field_.size(0), edges_); });
  return lattice_on(graph, torch::stack({field_, -field_}, 1), 2 * coupling_,
                    coupling_.sum().item<double>());
}

namespace {

std::shared_ptr<EnergyModel> load_ising(const ModelOptions& options) {
  if (!options.tensors && is_text_file(options.weights)) {
    return std::make_shared<QuadraticModel>(read_quadratic(options.weights, Variables::kSpin));
  }
  ParameterReader reader = options.reader();
  const torch::Tensor field = reader.real("field", {-1});
  const torch::Tensor edges = read_edges(reader, field.size(0));
  const torch::Tensor coupling = reader.real("coupling", {edges.size(0)});
  reader.finish();
  return std::make_shared<IsingModel>(edges, coupling, field);
}

// Makes a model of independent sites with the mean of the data: π(z) ∝ exp(h·z) with h = ½
// logit(mean). Without a mean, the fields are zero and are not trained.
std::shared_ptr<EnergyModel> fresh_ising(const NewModelOptions& options) {
  const torch::Tensor edges = edges_of(options.edges, options.image_height, options.image_width);
  const torch::Tensor& mean = options.base_mean;
  const torch::Tensor field =
      mean.defined() ? 0.5 * torch::logit(mean.to(torch::kFloat64))
                     : torch::zeros({options.image_height * options.image_width}, torch::kFloat32);
  return std::make_shared<IsingModel>(edges, torch::zeros({edges.size(0)}, torch::kFloat32), field,
                                      mean.defined());
}

}  // namespace

std::vector<ModelEntry> ising_models() {
  return {{"ising", "-sum_i h_i z_i - sum_e J_e z_i z_j, z = 2x - 1",
           "edges int64 [E,2], coupling [E], field [D]; or a text of lines 'i j J' and 'i i h'",
           "binary", true, load_ising, fresh_ising}};
}

}  // namespace isinglass
