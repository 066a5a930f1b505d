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
// exp(−kForbidden/2) is 0 even in float64, and the square is finite in float32.
constexpr double kForbidden = 1e6;

}  // namespace

WithinModel::WithinModel(std::shared_ptr<EnergyModel> joint, const torch::Tensor& reference,
                         int64_t most)
    : WrappedModel(std::move(joint)), most_(most) {
  const StateSpace space = inner().space();
  require(space.discrete() && space.kind != StateKind::kPermutation,
          "the states near a reference state are limited for discrete sites only");
  require_option(most >= 1 && most <= space.sites, "within", static_cast<double>(most),
                 "it must be a number of sites from 1 to {}", space.sites);
  reference_ = register_buffer(
      "reference", as_states(space, reference.dim() == 1 ? reference.unsqueeze(0) : reference,
                             "the reference states")
                       .contiguous());
  register_buffer("within", torch::full({}, most, torch::kInt64));
}

torch::Tensor WithinModel::energy(const torch::Tensor& x) {
  const torch::Tensor u = inner().energy(x);
  if (x.is_floating_point()) return u;
  const torch::Tensor far = (x != rows_for_chains(reference_, x.size(0))).sum(1) > most_;
  return u.masked_fill(far, std::numeric_limits<double>::infinity());
}

void WithinModel::evaluate_energy(const torch::Tensor& x, Evaluation& out) {
  inner().evaluate_energy(x, out);
  limit(x, out.energy);
}

// Makes the energies outside of the ball infinite, and returns the sites whose change would leave
// it, bool [B, D].
torch::Tensor WithinModel::limit(const torch::Tensor& x, torch::Tensor& energy) const {
  const torch::Tensor same = x == rows_for_chains(reference_, x.size(0));
  const torch::Tensor distance = same.logical_not().sum(1);
  energy.masked_fill_(distance > most_, std::numeric_limits<double>::infinity());
  return same & distance.eq(most_).unsqueeze(1);
}

void WithinModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  inner().evaluate(x, out);
  const StateSpace space = this->space();
  const torch::Tensor held = limit(x, out.energy);
  if (space.kind == StateKind::kBinary) {
    store(out.gradient,
          torch::add(out.gradient, held * (1 - 2 * x.to(torch::kFloat32)), kForbidden));
  } else if (space.one_hot()) {
    const torch::Tensor others =
        1 - torch::one_hot(x.to(torch::kInt64), space.categories).to(torch::kFloat32);
    store(out.gradient, torch::add(out.gradient, held.unsqueeze(2) * others, kForbidden));
  }
}

void WithinModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  HasEnergyDifferences* exact = inner().exact_differences();
  if (!exact) return differences_in_turn(*this, x, out);
  exact->evaluate_differences(x, out);
  const StateSpace space = this->space();
  const torch::Tensor held = limit(x, out.energy);
  constexpr double kOutside = -std::numeric_limits<double>::infinity();
  if (space.kind == StateKind::kBinary) {
    out.differences.masked_fill_(held, kOutside);
  } else {
    const torch::Tensor own = torch::one_hot(x.to(torch::kInt64), space.categories).eq(1);
    out.differences.masked_fill_(held.unsqueeze(2) & own.logical_not(), kOutside);
  }
}

void WithinModel::conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                                          torch::Tensor& out) {
  inner().conditionals()->conditional_differences(x, site, out);
  const torch::Tensor same = x == rows_for_chains(reference_, x.size(0));
  const torch::Tensor at = site.unsqueeze(1);
  const torch::Tensor held =
      same.gather(1, at) & same.logical_not().sum(1, /*keepdim=*/true).eq(most_);
  const torch::Tensor own = torch::arange(space().categories, site.options()).unsqueeze(0) ==
                            x.gather(1, at).to(torch::kInt64);
  out.masked_fill_(held & own.logical_not(), std::numeric_limits<double>::infinity());
}

}  // namespace isinglass
