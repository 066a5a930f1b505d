// Implements exact neighbour differences for any discrete model (energy_model.h), by evaluating all
// the neighbours.
#include <algorithm>

#include "io/error.h"
#include "models/energy_model.h"

namespace isinglass {
namespace {

constexpr int64_t kBatch = 4096;  // neighbours per model call

// Holds neighbours of chains: the states y [N, D] and the index of each one's difference in the
// flattened table, int64 [N].
struct Neighbours {
  torch::Tensor y, position;
};

// Returns neighbour n of each chain: site n / (K − 1) is set to the (n mod (K − 1))-th of its other
// values. The table [B, D, K] also has an entry for the current value.
Neighbours one_site_moves(const StateSpace& space, const torch::Tensor& x,
                          const torch::Tensor& chain, const torch::Tensor& n) {
  const int64_t others = space.categories - 1;
  const torch::Tensor site = n.floor_divide(others).unsqueeze(1);
  torch::Tensor y = x.index_select(0, chain);
  torch::Tensor value = n.remainder(others).unsqueeze(1);
  value = value + (value >= y.gather(1, site)).to(torch::kInt64);
  y.scatter_(1, site, value.to(x.scalar_type()));
  return {y, (chain * space.sites + site.squeeze(1)) * space.categories + value.squeeze(1)};
}

// Returns neighbour n of each chain: the n-th pair of entries is swapped. The table is
// [B, D(D−1)/2].
Neighbours swaps(const StateSpace& space, const torch::Tensor& x, const torch::Tensor& chain,
                 const torch::Tensor& n) {
  const torch::Tensor pair =
      torch::triu_indices(space.sites, space.sites, 1, n.options()).index_select(1, n).t();
  torch::Tensor y = x.index_select(0, chain);
  y.scatter_(1, pair, y.gather(1, pair.flip(1)));
  return {y, chain * space.neighbours() + n};
}

// Returns U(x) − U(neighbour) for all neighbours, float32.
torch::Tensor table_of(EnergyModel& model, const torch::Tensor& x, const torch::Tensor& energy) {
  const StateSpace space = model.space();
  const bool swap = space.kind == StateKind::kPermutation;
  const int64_t each = space.neighbours(), total = x.size(0) * each;
  const auto real = x.options().dtype(torch::kFloat32);
  const torch::Tensor table = swap ? torch::zeros({x.size(0), each}, real)
                                   : torch::zeros({x.size(0), space.sites, space.categories}, real);
  for (int64_t first = 0; first < total; first += kBatch) {
    const torch::Tensor n =
        torch::arange(first, std::min(first + kBatch, total), x.options().dtype(torch::kInt64));
    const torch::Tensor chain = n.floor_divide(each);
    const auto [y, position] = (swap ? swaps : one_site_moves)(space, x, chain, n.remainder(each));
    Evaluation at;
    model.evaluate_energy(y, at);
    table.view(-1).index_put_({position},
                              (energy.index_select(0, chain) - at.energy).to(torch::kFloat32));
  }
  return space.kind == StateKind::kBinary ? table.sum(-1)
                                          : table;  // the entry of the current value is 0
}

}  // namespace

int64_t evaluate_differences(EnergyModel& model, const torch::Tensor& x, Evaluation& out) {
  if (auto* exact = model.exact_differences()) {
    exact->evaluate_differences(x, out);
    return exact->difference_calls();
  }
  const StateSpace space = model.space();
  require(space.discrete(), "model {} has no neighbours: its states are continuous",
          model.kind_name());
  torch::NoGradGuard no_grad;
  model.evaluate_energy(x, out);
  out.differences = table_of(model, x, out.energy);
  return 1 + space.neighbours();
}

}  // namespace isinglass
