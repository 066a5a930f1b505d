// Exact neighbour differences of any discrete model, by evaluating its neighbours; see
// energy_model.h.
#include <algorithm>

#include "models/energy_model.h"

namespace isinglass {
namespace {

constexpr int64_t kBatch = 4096;  // neighbours evaluated at once

// Neighbour n of a chain: site n / (K − 1) takes the n mod (K − 1)-th of its other values.
// Returns U of the neighbours first … first + count − 1 of all chains; fills where they stand in
// the table [B, D, K] of all values.
torch::Tensor neighbour_energies(EnergyModel& model, const torch::Tensor& x, int64_t first,
                                 int64_t count, torch::Tensor& position) {
  const StateSpace space = model.space();
  const int64_t others = space.categories - 1, each = space.sites * others;
  const torch::Tensor n =
      torch::arange(first, first + count, torch::TensorOptions(torch::kInt64).device(x.device()));
  const torch::Tensor chain = n.floor_divide(each), rest = n.remainder(each);
  const torch::Tensor site = rest.floor_divide(others).unsqueeze(1);
  torch::Tensor y = x.index_select(0, chain);
  torch::Tensor value = rest.remainder(others).unsqueeze(1);
  value = value + (value >= y.gather(1, site)).to(torch::kInt64);
  y.scatter_(1, site, value.to(x.scalar_type()));
  position = (chain * space.sites + site.squeeze(1)) * space.categories + value.squeeze(1);
  Evaluation at;
  model.evaluate_energy(y, at);
  return at.energy;
}

}  // namespace

int64_t evaluate_differences(EnergyModel& model, const torch::Tensor& x, Evaluation& out) {
  if (auto* exact = dynamic_cast<HasEnergyDifferences*>(&model)) {
    exact->evaluate_differences(x, out);
    return 1;
  }
  torch::NoGradGuard no_grad;
  const StateSpace space = model.space();
  const int64_t neighbours = space.sites * (space.categories - 1), total = x.size(0) * neighbours;
  model.evaluate_energy(x, out);
  torch::Tensor table =
      torch::zeros({x.size(0), space.sites, space.categories}, x.options().dtype(torch::kFloat32));
  for (int64_t first = 0; first < total; first += kBatch) {
    torch::Tensor position;
    const torch::Tensor energy =
        neighbour_energies(model, x, first, std::min(kBatch, total - first), position);
    const torch::Tensor chain = position.floor_divide(space.sites * space.categories);
    table.view(-1).index_put_({position},
                              (out.energy.index_select(0, chain) - energy).to(torch::kFloat32));
  }
  out.differences = space.kind == StateKind::kBinary ? table.sum(-1) : table;
  return 1 + neighbours;
}

}  // namespace isinglass
