// Implements the defaults of the interface in energy_model.h.
#include "models/energy_model.h"

#include "io/error.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {

FlopCounts FlopCounts::of_network(double first_layer, double other_layers) {
  const double forward = first_layer + other_layers;
  return {forward, 2 * forward, 3 * forward - first_layer};  // the data need no gradient
}

void EnergyModel::set_gradient_precision(GradientPrecision precision) {
  require_options(precision == GradientPrecision::kFloat32,
                  "`gradient-precision` bf16 requires a model with gradients in bfloat16, but {} "
                  "has gradients in float32 only; resnet has both",
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
  const torch::Tensor gradient =
      torch::autograd::grad({u.sum()}, {input}, {}, /*retain_graph=*/std::nullopt,
                            /*create_graph=*/false, /*allow_unused=*/true)[0];
  require(gradient.defined(),
          "the energies of {} do not depend on the states by differentiable operations", title());
  out.gradient = gradient.contiguous();
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

HasLocalSteps* EnergyModel::local_steps() {
  return dynamic_cast<HasLocalSteps*>(this);
}

LatticeModel* EnergyModel::as_lattice() {
  return dynamic_cast<LatticeModel*>(this);
}

EnergyGrad EnergyModel::energy_and_grad(const torch::Tensor& x) {
  Evaluation out;
  evaluate(x, out);
  return {out.energy, out.gradient};
}

}  // namespace isinglass
