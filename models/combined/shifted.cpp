// Implements the model with a shifted energy.
#include "models/combined/shifted.h"

namespace isinglass {

// The constant is a buffer, so that it is part of the model's identity (models/identity.h).
ShiftedModel::ShiftedModel(std::shared_ptr<EnergyModel> model, double constant)
    : WrappedModel(std::move(model)),
      constant_(constant),
      buffer_(register_buffer("constant", torch::full({}, constant, torch::kFloat64))) {}

void ShiftedModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  inner().evaluate_energy(x, out);
  out.energy.add_(constant_);
}

void ShiftedModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  inner().evaluate(x, out);
  out.energy.add_(constant_);
}

void ShiftedModel::evaluate_moved(const torch::Tensor& x, const Evaluation& at_x,
                                  const torch::Tensor& y, bool gradient, Evaluation& out) {
  Evaluation before = at_x;
  before.energy = ops::scratch_tensor<double>(before_, at_x.energy.sizes(), at_x.energy);
  at::sub_out(before.energy, at_x.energy, buffer_);
  inner().evaluate_moved(x, before, y, gradient, out);
  out.energy.add_(constant_);
}

HasEnergyDifferences* ShiftedModel::exact_differences() {
  return inner().exact_differences() ? this : nullptr;
}

int64_t ShiftedModel::difference_calls() const {
  return inner().exact_differences()->difference_calls();
}

void ShiftedModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  inner().exact_differences()->evaluate_differences(x, out);
  out.energy.add_(constant_);
}

int64_t ShiftedModel::gibbs_sweeps(int64_t steps, const torch::Tensor& rng,
                                   const torch::Tensor& chain_ids, torch::Tensor& x,
                                   Evaluation& current, ops::StepBuffers& counts) {
  current.energy.sub_(constant_);
  const int64_t calls = inner().sweeps()->gibbs_sweeps(steps, rng, chain_ids, x, current, counts);
  current.energy.add_(constant_);
  return calls;
}

}  // namespace isinglass
