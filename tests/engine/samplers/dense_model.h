// A lattice model that hides its graph.
#pragma once

#include "models/lattice/lattice_model.h"

namespace isinglass {

// The same target without its graph: samplers evaluate every site.
class DenseModel : public EnergyModel, public HasConditionals, public HasEnergyDifferences {
 public:
  explicit DenseModel(LatticeModel& own) : own_(own) {}
  std::string kind_name() const override { return own_.kind_name(); }
  StateSpace space() const override { return own_.space(); }
  torch::Tensor energy(const torch::Tensor& x) override { return own_.energy(x); }
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override {
    own_.evaluate_energy(x, out);
  }
  void evaluate(const torch::Tensor& x, Evaluation& out) override { own_.evaluate(x, out); }
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override {
    own_.evaluate_differences(x, out);
  }
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override {
    own_.conditional_differences(x, site, out);
  }

 private:
  LatticeModel& own_;
};

}  // namespace isinglass
