// Implements the self-balancing samplers, their learning in burn-in, and their entries in the
// registry.
#include "engine/samplers/self_balancing.h"

#include <cmath>

#include "engine/registry.h"
#include "io/error.h"
#include "kernels/ops/path.h"

namespace isinglass {
namespace {

using torch::Tensor;

constexpr double kRate = 1e-2, kMomentum = 0.9;
constexpr int64_t kMove = 0, kStar = 1;  // index of the uniform number that a draw uses

struct SelfBalancingScratch : SamplerScratch {
  Tensor theta, log_eta;                    // float64 [P], []
  Tensor theta_velocity, log_eta_velocity;  // velocities of SGD
  ops::SiteBuffers move;                    // x′ = workspace.y
  Tensor star;                              // x*, uint8 [B, D]
  ops::SiteBuffers star_site;
  Evaluation at_star;
  Tensor log_star;  // log Q(x* | x), float64 [B]
  // True if θ comes from a burn-in, of this run or of an earlier one.
  bool learned = false;
};

// Returns log Q of flipping `site`, differentiable in the table. A row that cannot be normalised
// gives NaN and no gradient.
Tensor log_probability(const Tensor& table, const Tensor& site) {
  const Tensor usable = table.detach().amax(1).isfinite();
  const Tensor rows = torch::where(usable.unsqueeze(1), table, 0.0);
  const Tensor log_q = rows.gather(1, site.unsqueeze(1)).squeeze(1) - rows.logsumexp(1);
  return torch::where(usable, log_q, NAN);
}

// Returns r·A and log A of a flip.
std::pair<Tensor, Tensor> weighted_acceptance(const ProposedFlip& flip) {
  const Tensor log_a = (flip.log_backward - flip.log_forward - flip.rise).clamp_max(0);
  const Tensor r = torch::exp(flip.log_forward - flip.log_forward.detach());
  return {r * log_a.exp(), log_a};
}

Tensor finite_terms(const ProposedFlip& flip) {
  return flip.rise.isfinite() & flip.log_forward.isfinite() & flip.log_backward.isfinite();
}

ProposedFlip masked(const ProposedFlip& flip, const Tensor& valid) {
  return {torch::where(valid, flip.rise, 0.0), torch::where(valid, flip.log_forward, 0.0),
          torch::where(valid, flip.log_backward, 0.0)};
}

// Makes one step of SGD with momentum, in place. A gradient that is not finite counts as zero.
void descend(Tensor& value, Tensor& velocity, const Tensor& gradient) {
  const Tensor usable = gradient.isfinite().all();
  velocity.mul_(kMomentum).add_(torch::where(usable, gradient, 0.0));
  value.sub_(velocity, kRate);
}

template <Needs needs, bool network>
std::unique_ptr<Sampler> make_self_balancing(const SamplerOptions& options, const EnergyModel&) {
  const BalancingForm learned =
      options.monotonic ? BalancingForm::kMonotonic : BalancingForm::kNetwork;
  return std::make_unique<SelfBalancingSampler>(needs, network ? learned : BalancingForm::kMixture);
}

template <Needs needs, bool network>
SamplerEntry entry(const char* name, const char* summary) {
  SamplerEntry result{.name = name,
                      .summary = summary,
                      .paper = "Sansone 2022",
                      .needs = needs == Needs::kGradient ? "gradient" : "differences",
                      .kinds = {StateKind::kBinary},
                      .options = {},
                      .gradient = needs == Needs::kGradient,
                      .make = make_self_balancing<needs, network>};
  if (network) result.options.push_back({.name = "monotonic"});
  return result;
}

}  // namespace

Tensor self_balancing_objective(const ProposedFlip& move, const ProposedFlip& star,
                                const Tensor& log_eta) {
  const Tensor valid = finite_terms(move) & finite_terms(star);
  const ProposedFlip moved = masked(move, valid);
  const auto [accept, log_a] = weighted_acceptance(moved);
  const Tensor m1 = 1 - accept, m2 = 1 - weighted_acceptance(masked(star, valid)).first;
  const Tensor j = accept * (log_a + moved.log_forward + moved.rise) - m1 * (log_eta + 1) +
                   log_eta.exp() * m1 * m2;
  return torch::where(valid, j, 0.0);
}

void SelfBalancingSampler::prepare(const EnergyModel&, ChainState& state) const {
  const int64_t chains = state.chains(), sites = state.sites();
  const torch::Device device = state.x.device();
  auto scratch = std::make_shared<SelfBalancingScratch>();
  scratch->theta = initial_balancing(form_).to(device);
  scratch->log_eta = torch::zeros({}, scratch->theta.options());
  scratch->theta_velocity = torch::zeros_like(scratch->theta);
  scratch->log_eta_velocity = torch::zeros_like(scratch->log_eta);
  scratch->move = ops::SiteBuffers::create(chains, sites, device);
  scratch->star_site = ops::SiteBuffers::create(chains, sites, device);
  scratch->star = torch::empty_like(state.x);
  scratch->log_star = torch::zeros_like(state.current.energy);
  state.workspace.scratch = scratch;
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

Tensor SelfBalancingSampler::flip_differences(const Tensor& x, const Evaluation& at) const {
  if (needs_ == Needs::kDifferences) return at.differences.to(torch::kFloat64);
  return x.to(torch::kFloat64).mul_(2).sub_(1).mul_(at.gradient);  // (1 − 2x)(−∇U)
}

Tensor SelfBalancingSampler::log_weights(const Tensor& theta, const Tensor& d) const {
  const Tensor broken = d.isfinite().logical_not_();
  return log_balancing(form_, theta, d.masked_fill(broken, 0.0)).masked_fill(broken, -INFINITY);
}

StepInfo SelfBalancingSampler::step(EnergyModel& model, ChainState& state,
                                    StepParams& params) const {
  const torch::NoGradGuard no_grad;
  auto& scratch = scratch_of<SelfBalancingScratch>(state.workspace);
  Workspace& workspace = state.workspace;
  ops::draw_tabulated_site(log_weights(scratch.theta, flip_differences(state.x, state.current)),
                           state.x, params.rng, state.chain_ids, kMove, workspace.y, scratch.move,
                           workspace.log_forward);
  const int64_t evaluations = evaluate_proposal(model, state);
  ops::score_tabulated_site(
      log_weights(scratch.theta, flip_differences(workspace.y, workspace.proposed)), workspace.y,
      scratch.move, workspace.log_backward);
  accept(state, params);
  return {.evaluations = evaluations};
}

StepInfo SelfBalancingSampler::burn_in_step(EnergyModel& model, ChainState& state,
                                            StepParams& params, int64_t, int64_t,
                                            const Ranks& ranks) const {
  auto& scratch = scratch_of<SelfBalancingScratch>(state.workspace);
  Workspace& workspace = state.workspace;
  const Tensor theta = scratch.theta.detach().clone().requires_grad_();
  const Tensor log_eta = scratch.log_eta.detach().clone().requires_grad_();
  const auto table_at = [&](const Tensor& differences) {
    const torch::AutoGradMode with_gradient(true);
    return log_weights(theta, differences);
  };

  const Tensor d_x = flip_differences(state.x, state.current);
  const Tensor from_x = table_at(d_x);
  ops::draw_tabulated_site(from_x.detach(), state.x, params.rng, state.chain_ids, kStar,
                           scratch.star, scratch.star_site, scratch.log_star);
  ops::draw_tabulated_site(from_x.detach(), state.x, params.rng, state.chain_ids, kMove,
                           workspace.y, scratch.move, workspace.log_forward);
  int64_t evaluations = evaluate(model, scratch.star, scratch.at_star);
  evaluations += evaluate_proposal(model, state);
  const Tensor d_star = flip_differences(scratch.star, scratch.at_star);
  const Tensor d_y = flip_differences(workspace.y, workspace.proposed);
  const Tensor from_y = table_at(d_y);
  ops::score_tabulated_site(from_y.detach(), workspace.y, scratch.move, workspace.log_backward);

  // θ descends by the gradient over the chains of all ranks. Every rank tabulates all chains, so
  // that the result has the bits of a single process.
  const auto table_of_all = [&](const Tensor& differences, const Tensor& own) {
    return ranks.size() == 1 ? own : table_at(ranks.gather(differences));
  };
  const Tensor all_from_x = table_of_all(d_x, from_x);
  const auto flip = [&](const Tensor& energy, const Tensor& all_from, const Tensor& own_site) {
    const Tensor site = ranks.gather(own_site);
    const torch::AutoGradMode with_gradient(true);
    return ProposedFlip{ranks.gather(energy - state.current.energy),
                        log_probability(all_from_x, site), log_probability(all_from, site)};
  };
  {
    const ProposedFlip move =
        flip(workspace.proposed.energy, table_of_all(d_y, from_y), scratch.move.site);
    const ProposedFlip star =
        flip(scratch.at_star.energy, table_at(ranks.gather(d_star)), scratch.star_site.site);
    const torch::AutoGradMode with_gradient(true);
    const Tensor j = self_balancing_objective(move, star, log_eta);
    const auto gradient = torch::autograd::grad({j.mean()}, {theta, log_eta});
    const torch::NoGradGuard no_grad;
    descend(scratch.theta, scratch.theta_velocity, gradient[0]);
    descend(scratch.log_eta, scratch.log_eta_velocity, gradient[1]);
  }
  scratch.learned = true;
  accept(state, params);
  return {.evaluations = evaluations};
}

// Counts as settled once burn-in has learned; the noise of the gradients hides how near θ is to a
// minimum.
Adaptation SelfBalancingSampler::adaptation(const ChainState& state, const StepParams&,
                                            const BurnIn& burn_in) const {
  Adaptation result{.rounds = burn_in.steps,
                    .converged = scratch_of<SelfBalancingScratch>(state.workspace).learned};
  if (!result.converged) result.warning = "no balancing function was learned in burn-in";
  return result;
}

NamedTensors SelfBalancingSampler::learned(const ChainState& state) const {
  const auto& scratch = scratch_of<SelfBalancingScratch>(state.workspace);
  return {{"theta", scratch.theta.clone()}, {"log_eta", scratch.log_eta.clone()}};
}

void SelfBalancingSampler::restore(ChainState& state, const NamedTensors& learned) const {
  auto& scratch = scratch_of<SelfBalancingScratch>(state.workspace);
  const std::pair<const char*, Tensor*> places[] = {{"theta", &scratch.theta},
                                                    {"log_eta", &scratch.log_eta}};
  require(
      learned.size() == 2,
      "a learned balancing function consists of two tensors, theta and log_eta, but {} are given",
      learned.size());
  for (const auto& [name, place] : places) {
    const auto* found =
        std::find_if(learned.data(), learned.data() + learned.size(),
                     [&, name = name](const auto& entry) { return entry.first == name; });
    require(found != learned.data() + learned.size(),
            "a learned balancing function needs a tensor {}", name);
    const Tensor& value = found->second;
    require(value.scalar_type() == torch::kFloat64 && value.sizes() == place->sizes() &&
                value.isfinite().all().item<bool>(),
            "{} of a learned balancing function must hold {} finite float64 numbers", name,
            place->numel());
    place->copy_(value);
  }
  scratch.learned = true;
}

std::vector<SamplerEntry> self_balancing_samplers() {
  return {entry<Needs::kDifferences, false>(
              "lsb-1", "local self-balancing: a learned mixture of balancing functions"),
          entry<Needs::kDifferences, true>(
              "lsb-2", "local self-balancing: a balancing function learned by a network"),
          entry<Needs::kGradient, false>("flsb-1", "lsb-1 to first order"),
          entry<Needs::kGradient, true>("flsb-2", "lsb-2 to first order")};
}

}  // namespace isinglass
