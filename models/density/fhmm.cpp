// Implements the model's energy, gradient and differences in closed form.
#include "models/density/fhmm.h"

#include <cmath>
#include <limits>

#include "io/error.h"
#include "models/parameter_file.h"
#include "models/registry.h"

namespace isinglass {
namespace {

// Returns the costs of the values at a chain's first step, [n].
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

// Computes ∂U/∂z = ∂(−log p(x))/∂z − r/σ² W.
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

// Computes the exact differences. Changing one site by ΔW shifts the mean of its observation: Δ =
// −[∂(k) − ∂(x_i)] − (ΔW² − 2 r ΔW)/2σ², where ∂ is the gradient of −log p(x), which is linear in
// every site.
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

// Computes −Δ for one site per chain, from the observation at the site's time and the chain's
// values at the adjacent times.
void FhmmModel::conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                                        torch::Tensor& out) {
  const int64_t steps = y_.size(0), chains = w_.size(0), values = w_.size(1);
  const torch::Tensor time = site.div(chains, "floor"), chain = site.remainder(chains);
  const torch::Tensor value = x.to(torch::kInt64).view({-1, steps, chains});
  const torch::Tensor row = torch::arange(x.size(0), site.options());
  const torch::Tensor here = value.index({row, time}), own = here.gather(1, chain.unsqueeze(1));
  const torch::Tensor each = torch::arange(chains, site.options());
  const torch::Tensor r = y_.index({time}) - b_ - w_.index({each, here}).sum(1);
  const torch::Tensor weight = w_.index({chain});  // [B, n]
  const torch::Tensor shift = weight - weight.gather(1, own);
  const torch::Tensor k = torch::arange(values, site.options());
  const auto transition =
      [&](const torch::Tensor& other) {  // cost of the transition from or to an adjacent time
        const torch::Tensor beside =
            value.index({row, other.clamp(0, steps - 1), chain}).unsqueeze(1);
        const torch::Tensor inside = ((other >= 0) & (other < steps)).unsqueeze(1);
        return torch::where(k == beside, stay_, change_) * inside;
      };
  const torch::Tensor prior =
      first_ * (time == 0).unsqueeze(1) + transition(time - 1) + transition(time + 1);
  store(out, prior - prior.gather(1, own) +
                 (shift.square() - 2 * r.unsqueeze(1) * shift) / (2 * sigma_.square()));
}

namespace {

// Takes a number that has to lie strictly between two bounds.
double number_between(ParameterReader& reader, const char* key, double low, double high) {
  const double value = reader.real(key, {}).item<double>();
  require(value > low && value < high, "{}: tensor '{}' is {}; it must lie between {} and {}",
          reader.source(), key, value, low, high);
  return value;
}

std::shared_ptr<EnergyModel> load_fhmm(const ModelOptions& options) {
  ParameterReader reader = options.reader();
  FhmmParameters p;
  p.y = reader.real("y", {-1});
  p.w = reader.real("W", {-1, -1});
  p.b = reader.real("b", {}).item<double>();
  p.sigma = number_between(reader, "sigma", 0, std::numeric_limits<double>::infinity());
  p.p_init = number_between(reader, "p_init", 0, 1);
  p.p_stay = number_between(reader, "p_stay", 0, 1);
  reader.finish();
  check_categories(reader, "W", p.w);
  return std::make_shared<FhmmModel>(p);
}

}  // namespace

std::vector<ModelEntry> fhmm_models() {
  return {{"fhmm", "-log p(x) - log p(y given x) of a factorial hidden Markov model",
           "y [L], W [M,n], b [], sigma [], p_init [], p_stay []", "binary, categorical", true,
           load_fhmm}};
}

}  // namespace isinglass
