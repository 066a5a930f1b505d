// See product.h.
#include "models/product.h"

namespace isinglass {

ProductModel::ProductModel(std::vector<std::shared_ptr<EnergyModel>> factors)
    : factors_(std::move(factors)) {
  for (size_t i = 0; i < factors_.size(); ++i) register_module(std::to_string(i), factors_[i]);
}

torch::Tensor ProductModel::energy(const torch::Tensor& x) {
  torch::Tensor sum;
  for (const auto& factor : factors_) {
    const torch::Tensor u = factor->energy(x).to(torch::kFloat64);
    sum = sum.defined() ? sum + u : u;
  }
  return sum;
}

template <class Evaluate>
void ProductModel::add_up(Evaluate evaluate, Evaluation& out) {
  torch::Tensor energy, gradient;
  for (const auto& factor : factors_) {
    Evaluation part;
    evaluate(*factor, part);
    energy = energy.defined() ? energy + part.energy : part.energy;
    if (part.gradient.defined()) {
      gradient = gradient.defined() ? gradient + part.gradient : part.gradient;
    }
  }
  store(out.energy, energy);
  if (gradient.defined()) store(out.gradient, gradient);
}

void ProductModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  add_up([&](EnergyModel& factor, Evaluation& part) { factor.evaluate_energy(x, part); }, out);
}

void ProductModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  add_up([&](EnergyModel& factor, Evaluation& part) { factor.evaluate(x, part); }, out);
}

}  // namespace isinglass
