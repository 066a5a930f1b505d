// Implements models near a reference state.
#include "models/conditional/within.h"

#include <limits>

#include "io/error.h"
#include "models/conditional/chain_rows.h"
#include "models/conditional/differences_in_turn.h"
#include "models/states.h"

namespace isinglass {
namespace {

// The change of a gradient for moves that leave the ball. Gradients enter proposals alone;
// exp(−kOutsideDifference/2) is 0 even in float64, and the square is finite in float32.
constexpr double kOutsideDifference = 1e6;

}  // namespace

WithinModel::WithinModel(std::shared_ptr<EnergyModel> joint, const torch::Tensor& reference,
                         int64_t most)
    : WrappedModel(std::move(joint)) {
  const StateSpace space = inner().space();
  require(space.discrete() && space.kind != StateKind::kPermutation,
          "the states near a reference state are limited for discrete sites only");
  require_option(most >= 1 && most <= space.sites, "within", static_cast<double>(most),
                 "it must be a number of sites from 1 to {}", space.sites);
  reference_ = register_buffer(
      "reference", as_states(space, reference.dim() == 1 ? reference.unsqueeze(0) : reference,
                             "the reference states")
                       .contiguous());
  most_ = register_buffer("within", torch::full({}, most, torch::kInt64));
}

WithinModel::WithinModel(std::shared_ptr<EnergyModel> joint, const DistanceLimit& limit)
    : WrappedModel(std::move(joint)),
      differs_(register_buffer("differs", limit.differs)),
      movable_(register_buffer("movable", limit.differs.any(2))),
      most_(register_buffer("most", limit.most)) {
  const StateSpace space = inner().space();
  TORCH_CHECK(differs_.dim() == 3 && differs_.size(0) == most_.size(0) &&
                  differs_.size(1) == space.sites && differs_.size(2) == space.categories,
              "the limit of changes is for other states");
}

// Returns how many sites of each chain may differ: int64 [B], or [] for all chains.
torch::Tensor WithinModel::most_of(int64_t chains) const {
  return most_.dim() == 0 ? most_ : rows_for_chains(most_, chains);
}

// Returns the sites that differ from the reference, bool [B, D].
torch::Tensor WithinModel::changed(const torch::Tensor& x) const {
  if (reference_.defined()) return x != rows_for_chains(reference_, x.size(0));
  return rows_for_chains(differs_, x.size(0))
      .gather(2, x.to(torch::kInt64).unsqueeze(2))
      .squeeze(2);
}

// Returns the values that change a site which has the reference's, bool [B, D, K].
torch::Tensor WithinModel::changes(const torch::Tensor& x) const {
  if (differs_.defined()) return rows_for_chains(differs_, x.size(0));
  return torch::one_hot(x.to(torch::kInt64), space().categories).eq(0);
}

torch::Tensor WithinModel::energy(const torch::Tensor& x) {
  const torch::Tensor u = inner().energy(x);
  if (x.is_floating_point()) return u;
  const torch::Tensor far = changed(x).sum(1) > most_of(x.size(0));
  return u.masked_fill(far, std::numeric_limits<double>::infinity());
}

void WithinModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  inner().evaluate_energy(x, out);
  limit(x, out.energy);
}

// Makes the energies outside of the ball infinite, and returns the sites whose change would leave
// it, bool [B, D].
torch::Tensor WithinModel::limit(const torch::Tensor& x, torch::Tensor& energy) const {
  const torch::Tensor changed = this->changed(x), most = most_of(x.size(0));
  const torch::Tensor distance = changed.sum(1);
  energy.masked_fill_(distance > most, std::numeric_limits<double>::infinity());
  const torch::Tensor held = changed.logical_not() & distance.eq(most).unsqueeze(1);
  return movable_.defined() ? held & rows_for_chains(movable_, x.size(0)) : held;
}

void WithinModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  inner().evaluate(x, out);
  const StateSpace space = this->space();
  const torch::Tensor held = limit(x, out.energy);
  if (space.kind == StateKind::kBinary) {
    store(out.gradient,
          torch::add(out.gradient, held * (1 - 2 * x.to(torch::kFloat32)), kOutsideDifference));
  } else if (space.one_hot()) {
    const torch::Tensor outside = held.unsqueeze(2) & changes(x);
    store(out.gradient, torch::add(out.gradient, outside.to(torch::kFloat32), kOutsideDifference));
  }
}

void WithinModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  HasEnergyDifferences* exact = inner().exact_differences();
  if (!exact) return differences_in_turn(*this, x, out);
  exact->evaluate_differences(x, out);
  const torch::Tensor held = limit(x, out.energy);
  constexpr double kOutside = -std::numeric_limits<double>::infinity();
  if (space().kind == StateKind::kBinary) {
    out.differences.masked_fill_(held, kOutside);
  } else {
    out.differences.masked_fill_(held.unsqueeze(2) & changes(x), kOutside);
  }
}

void WithinModel::conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                                          torch::Tensor& out) {
  inner().conditionals()->conditional_differences(x, site, out);
  const int64_t chains = x.size(0), values = space().categories;
  const torch::Tensor changed = this->changed(x), at = site.unsqueeze(1);
  const torch::Tensor held =
      changed.gather(1, at).logical_not() & changed.sum(1).eq(most_of(chains)).unsqueeze(1);
  torch::Tensor change;  // [B, K]
  if (differs_.defined()) {
    change = rows_for_chains(differs_, chains)
                 .gather(1, at.unsqueeze(2).expand({chains, 1, values}))
                 .squeeze(1);
  } else {
    change =
        torch::arange(values, site.options()).unsqueeze(0) != x.gather(1, at).to(torch::kInt64);
  }
  out.masked_fill_(held & change, std::numeric_limits<double>::infinity());
}

}  // namespace isinglass
