// Implements differences by evaluating the neighbours in turn.
#include "models/conditional/differences_in_turn.h"

namespace isinglass {

void differences_in_turn(EnergyModel& model, const torch::Tensor& x, Evaluation& out) {
  const torch::NoGradGuard no_grad;
  model.evaluate_energy(x, out);
  const StateSpace space = model.space();
  const bool binary = space.kind == StateKind::kBinary;
  std::vector<int64_t> shape = {x.size(0), space.sites};
  if (!binary) shape.push_back(space.categories);
  out.differences = torch::zeros(shape, x.options().dtype(torch::kFloat32));
  torch::Tensor y = x.clone();
  for (int64_t i = 0; i < space.sites; ++i) {
    for (int64_t move = 1; move < space.categories; ++move) {
      const torch::Tensor value = (x.select(1, i).to(torch::kInt64) + move) % space.categories;
      y.select(1, i).copy_(value);
      Evaluation at;
      model.evaluate_energy(y, at);
      const torch::Tensor change = (out.energy - at.energy).to(torch::kFloat32);
      if (binary) {
        out.differences.select(1, i).copy_(change);
      } else {
        out.differences.select(1, i).scatter_(1, value.unsqueeze(1), change.unsqueeze(1));
      }
    }
    y.select(1, i).copy_(x.select(1, i));
  }
}

}  // namespace isinglass
