// Defaults of the model contract; see energy_model.h.
#include "models/energy_model.h"

#include <fmt/ostream.h>

#include <map>

#include "io/error.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {

FlopCounts FlopCounts::of_network(double first_layer, double other_layers) {
  const double forward = first_layer + other_layers;
  return {forward, 2 * forward, 3 * forward - first_layer};  // data need no gradient
}

void EnergyModel::set_gradient_precision(GradientPrecision precision) {
  require_options(precision == GradientPrecision::kFloat32,
                  "`gradient-precision` bf16: {} has gradients in float32 only; resnet has both",
                  kind_name());
}

void EnergyModel::store(torch::Tensor& out, const torch::Tensor& value) {
  if (out.defined() && out.sizes() == value.sizes()) {
    out.copy_(value);
  } else {
    out = value.detach().clone();
  }
}

torch::Tensor EnergyModel::relaxed(const torch::Tensor& x) const {
  if (x.is_floating_point()) return x;
  const StateSpace s = space();
  if (!s.one_hot()) return x.to(torch::kFloat32);
  return torch::one_hot(x.to(torch::kInt64), s.categories).to(torch::kFloat32);
}

void EnergyModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  store(out.energy, energy(x).to(torch::kFloat64));
}

void EnergyModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  torch::AutoGradMode with_grad(true);
  const torch::Tensor input = relaxed(x).detach().requires_grad_(true);
  const torch::Tensor u = energy(input);
  out.gradient = torch::autograd::grad({u.sum()}, {input})[0].contiguous();
  store(out.energy, u.detach().to(torch::kFloat64));
}

void EnergyModel::evaluate_moved(const torch::Tensor&, const Evaluation&, const torch::Tensor& y,
                                 bool gradient, Evaluation& out) {
  if (gradient) {
    evaluate(y, out);
  } else {
    evaluate_energy(y, out);
  }
}

HasConditionals* EnergyModel::conditionals() {
  return dynamic_cast<HasConditionals*>(this);
}

HasSweeps* EnergyModel::sweeps() {
  return dynamic_cast<HasSweeps*>(this);
}

HasEnergyDifferences* EnergyModel::exact_differences() {
  return dynamic_cast<HasEnergyDifferences*>(this);
}

LatticeModel* EnergyModel::as_lattice() {
  return dynamic_cast<LatticeModel*>(this);
}

LocalSteps EnergyModel::local_steps(Evaluation& current) {
  return {as_lattice(),
          current.energy,
          current.differences.defined() ? current.differences : current.gradient,
          {}};
}

EnergyGrad EnergyModel::energy_and_grad(const torch::Tensor& x) {
  Evaluation out;
  evaluate(x, out);
  return {out.energy, out.gradient};
}

void check_states(const StateSpace& space, const torch::Tensor& x, const std::string& what) {
  require(x.dim() == 2 && x.size(1) == space.sites, "{} have shape {}; the model needs [N, {}]",
          what, fmt::format("{}", fmt::streamed(x.sizes())), space.sites);
  static const std::map<torch::ScalarType, const char*> names = {
      {torch::kFloat32, "float32"}, {torch::kUInt8, "uint8"}, {torch::kInt64, "int64"}};
  require(x.scalar_type() == space.dtype(), "{} must be {}", what, names.at(space.dtype()));
  if (!space.discrete() || x.numel() == 0) return;
  if (space.kind == StateKind::kPermutation) {
    const torch::Tensor sorted = std::get<0>(x.sort(1));
    const auto wrong = (sorted != torch::arange(space.sites, x.options())).any(1);
    const int64_t count = wrong.sum().item<int64_t>();
    require(count == 0, "{} hold {} rows that are no permutation of 0 to {}", what, count,
            space.sites - 1);
    return;
  }
  const int64_t most = x.max().item<int64_t>();
  require(most < space.categories, "{} hold the value {}; the model has values 0 to {}", what, most,
          space.categories - 1);
}

}  // namespace isinglass
