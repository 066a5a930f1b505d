// Product of continuous targets: U(x) = Σ_f U_f(x) for states x [B, D], with gradient Σ_f ∇U_f(x).
// It has no parameter file of its own; the option `factors` NAME=FILE.pt,NAME=FILE.pt names those
// of the factors.
#pragma once

#include <memory>

#include "models/bounds.h"
#include "models/registry.h"

namespace isinglass {

class ProductModel : public EnergyModel, public HasBounds {
 public:
  // Requires at least one factor; all factors have the same number of sites. Throws
  // Error if their states have different bounds.
  explicit ProductModel(std::vector<std::shared_ptr<EnergyModel>> factors);

  std::string kind_name() const override { return "product"; }
  StateSpace space() const override { return factors_.front()->space(); }
  std::optional<Bounds> bounds() const override { return bounds_of(*factors_.front()); }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;

 private:
  template <class Evaluate>
  void add_up(Evaluate evaluate, Evaluation& out);

  std::vector<std::shared_ptr<EnergyModel>> factors_;
};

}  // namespace isinglass
