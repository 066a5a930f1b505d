// Implements the product of continuous targets, and its registry entry.
#include "models/combined/product.h"

#include "io/error.h"
#include "models/registry.h"

namespace isinglass {

ProductModel::ProductModel(std::vector<std::shared_ptr<EnergyModel>> factors)
    : factors_(std::move(factors)) {
  for (size_t i = 0; i < factors_.size(); ++i) {
    register_module(std::to_string(i), factors_[i]);
    require(bounds_of(*factors_[i]) == bounds(),
            "the states of {} and of {} do not have the same bounds", factors_[0]->title(),
            factors_[i]->title());
  }
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

namespace {

std::shared_ptr<EnergyModel> load_product(const ModelOptions& options) {
  require_options(
      options.factors.size() >= 2,
      "model product needs `factors` NAME=FILE.pt,NAME=FILE.pt with two or more models");
  std::vector<std::shared_ptr<EnergyModel>> factors;
  for (const NamedFile& factor : options.factors) {
    require_options(factor.name != "product", "`factors`: a factor cannot be a product itself");
    factors.push_back(load_model(factor.name, {.weights = factor.file,
                                               .sites = options.sites,
                                               .image_height = options.image_height,
                                               .image_width = options.image_width,
                                               .continuous = true}));
    const StateSpace first = factors.front()->space(), space = factors.back()->space();
    require_options(!space.discrete(),
                    "`factors` {}: every factor of a product must have continuous states",
                    factor.name);
    require_options(
        space.sites == first.sites,
        "`factors`: all factors must have the same number of sites, but {} has {} and {} has {}",
        options.factors.front().name, first.sites, factor.name, space.sites);
  }
  return std::make_shared<ProductModel>(std::move(factors));
}

}  // namespace

std::vector<ModelEntry> product_models() {
  return {{"product", "sum of the factors' energies", "none; `factors` NAME=FILE.pt,NAME=FILE.pt",
           "continuous", true, load_product, /*fresh=*/nullptr, /*weights=*/false}};
}

}  // namespace isinglass
