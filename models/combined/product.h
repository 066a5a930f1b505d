// Product of continuous targets: U(x) = Σ_f U_f(x), with the gradient of the sum. No parameter file
// of its own: `factors` NAME=FILE.pt,NAME=FILE.pt.
#pragma once

#include <memory>

#include "models/registry.h"

namespace isinglass {

class ProductModel : public EnergyModel {
 public:
  // At least one factor, all of one number of sites.
  explicit ProductModel(std::vector<std::shared_ptr<EnergyModel>> factors);

  std::string kind_name() const override { return "product"; }
  StateSpace space() const override { return factors_.front()->space(); }
  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;

 private:
  template <class Evaluate>
  void add_up(Evaluate evaluate, Evaluation& out);

  std::vector<std::shared_ptr<EnergyModel>> factors_;
};

}  // namespace isinglass
