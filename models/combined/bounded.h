// A model of continuous states within bounds (models/bounds.h): another model's energy in a box,
// and probability 0 outside. Samplers keep the chains inside, so that U is never evaluated outside.
#pragma once

#include <memory>

#include "models/wrapped_model.h"

namespace isinglass {

class BoundedModel : public WrappedModel {
 public:
  // Throws Error unless the model has continuous states, without bounds or with the same ones.
  BoundedModel(std::shared_ptr<EnergyModel> model, const Bounds& bounds);

  std::optional<Bounds> bounds() const override { return bounds_; }
  torch::Tensor energy(const torch::Tensor& x) override { return inner().energy(x); }
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override {
    inner().evaluate_energy(x, out);
  }
  void evaluate(const torch::Tensor& x, Evaluation& out) override { inner().evaluate(x, out); }
  void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x, const torch::Tensor& y,
                      bool gradient, Evaluation& out) override {
    inner().evaluate_moved(x, at_x, y, gradient, out);
  }

 private:
  Bounds bounds_;
};

}  // namespace isinglass
