// See fhmm.h.
#include "models/fhmm.h"

#include <cmath>

namespace isinglass {
namespace {

// Costs of the values of a chain's first step: [n].
torch::Tensor first_costs(double p_init, int64_t values) {
  torch::Tensor cost = torch::full(
      {values}, -std::log((1 - p_init) / static_cast<double>(values - 1)), torch::kFloat64);
  cost[0] = -std::log(p_init);
  return cost;
}

torch::Tensor number(double value) {
  return torch::tensor(value, torch::kFloat64);
}

}  // namespace

FhmmModel::FhmmModel(const FhmmParameters& p)
    : y_(register_buffer("y", p.y.to(torch::kFloat64))),
      w_(register_buffer("W", p.w.to(torch::kFloat64))),
      b_(register_buffer("b", number(p.b))),
      sigma_(register_buffer("sigma", number(p.sigma))),
      first_(register_buffer("first", first_costs(p.p_init, p.w.size(1)))),
      stay_(register_buffer("stay", number(-std::log(p.p_stay)))),
      change_(register_buffer(
          "change", number(-std::log((1 - p.p_stay) / static_cast<double>(p.w.size(1) - 1))))) {}

StateSpace FhmmModel::space() const {
  const int64_t values = w_.size(1);
  return {values == 2 ? StateKind::kBinary : StateKind::kCategorical, y_.size(0) * w_.size(0),
          values};
}

torch::Tensor FhmmModel::one_hot(const torch::Tensor& x) const {
  const torch::Tensor v = relaxed(x).to(torch::kFloat64);
  const torch::Tensor z = space().one_hot() ? v : torch::stack({1 - v, v}, -1);
  return z.view({x.size(0), y_.size(0), w_.size(0), w_.size(1)});
}

torch::Tensor FhmmModel::residual(const torch::Tensor& z) const {
  return y_ - b_ - (z * w_).sum({2, 3});
}

torch::Tensor FhmmModel::total(const torch::Tensor& z, const torch::Tensor& r) const {
  const int64_t steps = y_.size(0), chains = w_.size(0);
  const torch::Tensor kept = (z.slice(1, 1) * z.slice(1, 0, steps - 1)).sum({1, 2, 3});
  const torch::Tensor prior = (z.select(1, 0) * first_).sum({1, 2}) - (change_ - stay_) * kept +
                              static_cast<double>((steps - 1) * chains) * change_;
  const torch::Tensor normaliser =
      static_cast<double>(steps) * (sigma_.log() + 0.5 * std::log(2 * M_PI));
  return prior + r.square().sum(1) / (2 * sigma_.square()) + normaliser;
}

torch::Tensor FhmmModel::energy(const torch::Tensor& x) {
  const torch::Tensor z = one_hot(x);
  return total(z, residual(z));
}

torch::Tensor FhmmModel::prior_gradient(const torch::Tensor& z) const {
  const int64_t steps = z.size(1);
  torch::Tensor gradient = torch::zeros_like(z);
  gradient.slice(1, 1) -= z.slice(1, 0, steps - 1);
  gradient.slice(1, 0, steps - 1) -= z.slice(1, 1);
  gradient *= change_ - stay_;
  gradient.select(1, 0) += first_;
  return gradient;
}

// ∂U/∂z = ∂(−log p(x))/∂z − r/σ² W
void FhmmModel::evaluate(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor z = one_hot(x), r = residual(z);
  store(out.energy, total(z, r));
  const torch::Tensor slope = (r / sigma_.square()).unsqueeze(-1).unsqueeze(-1);
  const torch::Tensor gradient = prior_gradient(z) - slope * w_;
  const bool categorical = space().one_hot();
  const torch::Tensor own = categorical
                                ? gradient.flatten(1, 2)
                                : (gradient.select(3, 1) - gradient.select(3, 0)).flatten(1);
  store(out.gradient, own.to(torch::kFloat32));
}

// A change of one site by ΔW shifts its mean: Δ = −[∂(k) − ∂(x_i)] − (ΔW² − 2 r ΔW)/2σ², with ∂ the
// gradient of −log p(x), in which every site is linear.
void FhmmModel::evaluate_differences(const torch::Tensor& x, Evaluation& out) {
  torch::NoGradGuard no_grad;
  const torch::Tensor z = one_hot(x), r = residual(z), prior = prior_gradient(z);
  store(out.energy, total(z, r));
  const auto change = [&z](const torch::Tensor& of) { return of - (of * z).sum(-1, true); };
  const torch::Tensor shift = change(w_.expand_as(z));
  const torch::Tensor emission =
      (shift.square() - 2 * r.unsqueeze(-1).unsqueeze(-1) * shift) / (2 * sigma_.square());
  const torch::Tensor all = (-(change(prior) + emission)).flatten(1, 2);
  store(out.differences, (space().one_hot() ? all : all.sum(-1)).to(torch::kFloat32));
}

}  // namespace isinglass
