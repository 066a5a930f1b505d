// Implements quadratic functions as lattices, and the registry entry of qubo.
#include "models/lattice/quadratic.h"

#include "io/error.h"
#include "models/lattice/text_lines.h"
#include "models/registry.h"

namespace isinglass {

QuadraticModel::QuadraticModel(const Quadratic& function)
    : GraphProblem({function.linear.size(0), function.edges, function.weight, function.optimum}),
      kind_(function.kind),
      linear_(register_buffer("linear", function.linear)),
      offset_(register_buffer("offset", torch::tensor(function.offset, torch::kFloat64))),
      reading_(function.reading) {}

torch::Tensor QuadraticModel::energy(const torch::Tensor& x) {
  const bool spin = kind_ == Variables::kSpin;
  const torch::Tensor value = relaxed(x).to(torch::kFloat64);
  const torch::Tensor z = spin ? 2 * value - 1 : value;
  const auto [i, j] = ends(x);
  const torch::Tensor products = spin ? (2 * i - 1) * (2 * j - 1) : i * j;
  return offset_ + z.matmul(linear_) + products.matmul(weight_);
}

torch::Tensor QuadraticModel::violations(const torch::Tensor& x) {
  return torch::zeros({x.size(0)}, weight_.options());
}

ops::LatticeTensors QuadraticModel::make_lattice() const {
  const double total = weight_.sum().item<double>(), offset = offset_.item<double>();
  if (kind_ == Variables::kSpin) {
    return lattice_from_edges(torch::stack({-linear_, linear_}, 1), edges_, -2 * weight_,
                              offset - total);
  }
  const torch::Tensor half = 0.5 * weight_;
  const torch::Tensor edges = edges_.to(torch::kInt64);  // Module::to(dtype) casts buffers as well
  const torch::Tensor chosen =
      linear_.index_add(0, edges.select(1, 0), half).index_add(0, edges.select(1, 1), half);
  return lattice_from_edges(torch::stack({torch::zeros_like(chosen), chosen}, 1), edges_, -half,
                            offset - 0.5 * total);
}

namespace {

std::shared_ptr<EnergyModel> load_qubo(const ModelOptions& options) {
  if (!options.tensors && is_text_file(options.weights)) {
    return std::make_shared<QuadraticModel>(read_quadratic(options.weights, Variables::kBinary));
  }
  ParameterReader reader = options.reader();
  const torch::Tensor linear = reader.real("linear", {-1});
  const torch::Tensor edges = read_edges(reader, linear.size(0));
  const torch::Tensor weight = reader.real("weight", {edges.size(0)});
  const double offset = reader.has("offset") ? reader.real("offset", {}).item<double>() : 0;
  reader.finish();
  return std::make_shared<QuadraticModel>(
      quadratic_of(Variables::kBinary, linear, edges, weight, offset));
}

}  // namespace

std::vector<ModelEntry> quadratic_models() {
  return {{"qubo", "offset + sum_i a_i x_i + sum_e w_e x_i x_j",
           "linear [D], edges int64 [E,2], weight [E], offset []; or a text of lines 'i j value'",
           "binary", true, load_qubo}};
}

}  // namespace isinglass
