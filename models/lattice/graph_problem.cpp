// Implements the graph problems as lattices, and their registry entries.
#include "models/lattice/graph_problem.h"

#include "io/error.h"
#include "models/registry.h"

namespace isinglass {
namespace {

constexpr double kPenalty = 1.5;

constexpr const char* kGraph =
    "a graph as text: an edge list, G-set, DIMACS, MatrixMarket, METIS, networkx or CSV";

// Reads the graph from the file, or from tensors: edges [E, 2], optionally weight [E], and `sites`
// if there are vertices without edges after the last one with an edge.
Graph graph_for(const ModelOptions& options) {
  if (!options.tensors) return read_graph(options.weights);
  ParameterReader reader = options.reader();
  const torch::Tensor listed = reader.peek("edges", {-1, 2});
  require(listed.numel() > 0, "{}: tensor 'edges' is empty", options.source());
  const int64_t vertices = options.sites.value_or(listed.max().item<int64_t>() + 1);
  const torch::Tensor edges = read_edges(reader, vertices);
  const torch::Tensor weight = reader.has("weight") ? reader.real("weight", {edges.size(0)})
                                                    : torch::ones({edges.size(0)}, torch::kFloat64);
  reader.finish();
  return graph_of(vertices, edges, weight, options.source());
}

std::shared_ptr<EnergyModel> load_maxcut(const ModelOptions& options) {
  return std::make_shared<MaxCutModel>(graph_for(options));
}

std::shared_ptr<EnergyModel> load_mis(const ModelOptions& options) {
  return std::make_shared<IndependentSetModel>("mis", graph_for(options),
                                               options.penalty.value_or(kPenalty));
}

std::shared_ptr<EnergyModel> load_maxclique(const ModelOptions& options) {
  const Graph graph = complement_of(graph_for(options), options.source());
  return std::make_shared<IndependentSetModel>("maxclique", graph,
                                               options.penalty.value_or(kPenalty));
}

}  // namespace

GraphProblem::GraphProblem(const Graph& graph)
    : vertices_(graph.vertices),
      edges_(register_buffer("edges", graph.edges)),
      weight_(register_buffer("weight", graph.weight)),
      optimum_(graph.optimum),
      reading_(graph.reading) {}

torch::Tensor GraphProblem::energy(const torch::Tensor& x) {
  return penalty() * violations(x) - objective(x);
}

std::pair<torch::Tensor, torch::Tensor> GraphProblem::ends(const torch::Tensor& x) const {
  const torch::Tensor value = relaxed(x).to(torch::kFloat64);
  const torch::Tensor edges = edges_.to(torch::kInt64);  // Module::to(dtype) casts buffers as well
  return {value.index_select(1, edges.select(1, 0)), value.index_select(1, edges.select(1, 1))};
}

torch::Tensor MaxCutModel::objective(const torch::Tensor& x) {
  const auto [u, v] = ends(x);
  return (u + v - 2 * u * v).matmul(weight_);
}

torch::Tensor MaxCutModel::violations(const torch::Tensor& x) {
  return torch::zeros({x.size(0)}, weight_.options());
}

ops::LatticeTensors MaxCutModel::make_lattice() const {
  return lattice_from_edges(torch::zeros({vertices_, 2}, torch::kFloat64), edges_, -weight_,
                            -weight_.sum().item<double>());
}

torch::Tensor IndependentSetModel::objective(const torch::Tensor& x) {
  return relaxed(x).to(torch::kFloat64).sum(1);
}

torch::Tensor IndependentSetModel::violations(const torch::Tensor& x) {
  const auto [u, v] = ends(x);
  return (u * v).sum(1);
}

ops::LatticeTensors IndependentSetModel::make_lattice() const {
  const torch::Tensor degree =
      torch::bincount(edges_.flatten().cpu(), {}, vertices_).to(torch::kFloat64);
  const torch::Tensor chosen = 0.5 * penalty_ * degree - 1;
  return lattice_from_edges(torch::stack({torch::zeros_like(chosen), chosen}, 1), edges_,
                            torch::full({edges_.size(0)}, -0.5 * penalty_, torch::kFloat64),
                            -0.5 * penalty_ * static_cast<double>(edges_.size(0)));
}

std::vector<ModelEntry> graph_problem_models() {
  return {{.name = "maxcut",
           .energy = "-sum_e w_e [x_u != x_v]",
           .parameters = kGraph,
           .state_kinds = "binary",
           .gradient = true,
           .load = load_maxcut},
          {.name = "mis",
           .energy = "-sum_i x_i + penalty sum_e x_u x_v",
           .parameters = kGraph,
           .state_kinds = "binary",
           .gradient = true,
           .load = load_mis,
           .constraints = true},
          {.name = "maxclique",
           .energy = "-sum_i x_i + penalty sum_{u,v not adjacent} x_u x_v",
           .parameters = kGraph,
           .state_kinds = "binary",
           .gradient = true,
           .load = load_maxclique,
           .constraints = true}};
}

}  // namespace isinglass
