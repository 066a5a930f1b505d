// Implements the any-scale samplers, their learning in burn-in, and their entries in the registry.
#include "engine/samplers/any_scale.h"

#include <fmt/format.h>

#include <limits>

#include "engine/adaptation/curvature.h"
#include "engine/adaptation/jump_search.h"
#include "engine/registry.h"
#include "io/error.h"
#include "kernels/ops/any_scale.h"
#include "kernels/ops/random.h"

namespace isinglass {
namespace {

// Holds the data that burn-in learns from.
struct Learning {
  std::optional<JumpSearch> search;
  std::optional<CurvatureEstimate> estimate;  // first half of burn-in only
  torch::Tensor x, gradient;                  // state and gradient before the step
};

// Products with A take whole blocks of 8 rows. Matrix libraries round the sums of an incomplete
// block differently, so that a chain's numbers would depend on how many other chains there are.
constexpr int64_t kBlock = 8;

struct Rows {
  // float64: `blocks` is padded with rows of zeros; `own` [B, D] views the rows of the chains.
  torch::Tensor blocks, own;

  Rows() = default;
  explicit Rows(const torch::Tensor& like)
      : blocks(torch::zeros({(like.size(0) + kBlock - 1) / kBlock * kBlock, like.size(1)},
                            like.options().dtype(torch::kFloat64))),
        own(blocks.narrow(0, 0, like.size(0))) {}
};

struct AnyScaleScratch : SamplerScratch {
  Rows noise, field, move;                  // ξ, Aᵀξ, y − x
  torch::Tensor curvature, diagonal, root;  // W, D, A; undefined: 0
  std::optional<Learning> learning;         // exists during burn-in
  // The number of rounds of the last search, and whether it has settled.
  int64_t rounds = 0;
  bool converged = false;
};

void set_curvature(ChainState& state, const torch::Tensor& w, const torch::Tensor& d,
                   const torch::Tensor& root) {
  auto& scratch = scratch_of<AnyScaleScratch>(state.workspace);
  const torch::Device device = state.x.device();
  scratch.curvature = w.to(device);
  scratch.diagonal = d.to(device).contiguous();
  scratch.root = root.to(device).contiguous();
}

// Ends the first half of burn-in: determines W from the moves, then D. The search for (σ, α) starts
// anew at the best values found so far.
void learn_curvature(ChainState& state, DiagonalRule rule) {
  Learning& learning = *scratch_of<AnyScaleScratch>(state.workspace).learning;
  const torch::Tensor w = learning.estimate->solve();
  learning.estimate.reset();
  if (learning.search) learning.search.emplace(learning.search->best());
  if (!w.defined()) return;
  const DiagonalBound bound = bound_diagonal(w, rule);
  set_curvature(state, w, bound.diagonal, bound.root);
}

void set_scale(StepParams& params, const JumpSearch::Values& values) {
  for (int i = 0; i < 2; ++i) params.scale.select(0, i).fill_(values[i]);
}

// Returns |y − x|₁ of every chain, int64 [B], of uint8 states.
torch::Tensor jumps(const torch::Tensor& x, const torch::Tensor& y) {
  return torch::where(y > x, y - x, x - y).sum(1);
}

}  // namespace

torch::Tensor curvature_of_variances(const torch::Tensor& variances) {
  return -1 / (1 + variances.to(torch::kFloat64));
}

AnyScaleSampler::AnyScaleSampler(AnyScaleOptions options) : options_(std::move(options)) {
  if (!options_.diagonal_curvature.defined()) return;
  require(!options_.rule, "a sampler with a given diagonal curvature does not learn the curvature");
  options_.diagonal_curvature =
      options_.diagonal_curvature.detach().to(torch::kCPU, torch::kFloat64).contiguous();
  require(torch::isfinite(options_.diagonal_curvature).all().item<bool>() &&
              (options_.diagonal_curvature <= 0).all().item<bool>(),
          "a diagonal curvature must hold finite numbers that are at most 0");
}

std::vector<Scale> AnyScaleSampler::scales() const {
  return {{"sigma", options_.sigma, 0, std::numeric_limits<double>::infinity()},
          {"alpha", options_.alpha, 0, 1}};
}

void AnyScaleSampler::prepare(const EnergyModel&, ChainState& state) const {
  auto scratch = std::make_shared<AnyScaleScratch>();
  if (options_.rule) {
    for (Rows* rows : {&scratch->noise, &scratch->field, &scratch->move}) *rows = Rows(state.x);
  }
  const torch::Tensor& w = options_.diagonal_curvature;
  if (w.defined()) {
    require(w.dim() == 1 && w.size(0) == state.sites(),
            "the diagonal curvature has {} numbers; the model has {} sites", w.numel(),
            state.sites());
    scratch->diagonal = (-w).to(state.x.device());
  }
  state.workspace.scratch = scratch;
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

StepInfo AnyScaleSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  Workspace& workspace = state.workspace;
  auto& s = scratch_of<AnyScaleScratch>(state.workspace);
  const int64_t categories = model.space().categories;
  ops::OrderedInputs inputs{state.current.gradient, {}, {}, s.diagonal, params.scale};
  torch::Tensor move;
  if (s.root.defined()) {
    inputs.noise = s.noise.own;
    inputs.field = s.field.own;
    move = s.move.own;
    ops::step_normals(params.rng, state.chain_ids, s.noise.own);
    at::mm_out(s.field.blocks, s.noise.blocks, s.root);  // rows: Aᵀξ
  }
  ops::draw_ordered(state.x, inputs, categories, params.rng, state.chain_ids, workspace.y, move,
                    workspace.log_forward);
  evaluate_proposal(model, state);
  if (s.root.defined()) {
    s.noise.blocks.addmm_(s.move.blocks, s.root.t(), 1, -1);  // ξ − A(y − x)
    at::mm_out(s.field.blocks, s.noise.blocks, s.root);
  }
  inputs.gradient = workspace.proposed.gradient;
  ops::score_ordered(workspace.y, state.x, inputs, categories, workspace.log_backward);
  accept(state, params);
  return {.evaluations = 1};
}

void AnyScaleSampler::begin_burn_in(ChainState& state) const {
  auto& scratch = scratch_of<AnyScaleScratch>(state.workspace);
  Learning& learning = scratch.learning.emplace();
  if (options_.search) learning.search.emplace(JumpSearch::Values{options_.sigma, options_.alpha});
  if (options_.rule && !scratch.root.defined()) {
    learning.estimate.emplace(state.sites(), state.x.device());
  }
  learning.x = torch::empty_like(state.x);
  learning.gradient = torch::empty_like(state.current.gradient);
}

StepInfo AnyScaleSampler::burn_in_step(EnergyModel& model, ChainState& state, StepParams& params,
                                       int64_t t, int64_t total, const Ranks& ranks) const {
  auto& scratch = scratch_of<AnyScaleScratch>(state.workspace);
  std::optional<Learning>& learning = scratch.learning;
  if (t == 0) begin_burn_in(state);
  if (learning->estimate && t >= total / 2) learn_curvature(state, *options_.rule);
  learning->x.copy_(state.x);
  learning->gradient.copy_(state.current.gradient);
  if (learning->search) set_scale(params, learning->search->trial());
  const StepInfo info = step(model, state, params);
  if (learning->search) {
    learning->search->record(ranks.mean(jumps(learning->x, state.x)),
                             ranks.mean(state.statistics.acceptance));
  }
  if (learning->estimate) {
    learning->estimate->add(learning->x, state.x, learning->gradient, state.current.gradient,
                            ranks);
  }
  if (t + 1 == total) {
    if (learning->search) {
      set_scale(params, learning->search->best());
      scratch.rounds = learning->search->rounds();
      scratch.converged = learning->search->converged();
    }
    learning.reset();
  }
  return info;
}

Adaptation AnyScaleSampler::adaptation(const ChainState& state, const StepParams&,
                                       const BurnIn& burn_in) const {
  const auto& s = scratch_of<AnyScaleScratch>(state.workspace);
  if (options_.rule && !s.root.defined()) {
    return {.rounds = s.rounds, .warning = "no curvature was learned in burn-in"};
  }
  Adaptation result{.rounds = s.rounds, .converged = s.converged || !options_.search};
  if (!result.converged) {
    result.warning = fmt::format(
        "the search for sigma and alpha did not end in burn-in: rounds "
        "{}, steps {}",
        s.rounds, burn_in.steps);
  }
  return result;
}

NamedTensors AnyScaleSampler::learned(const ChainState& state) const {
  const auto& s = scratch_of<AnyScaleScratch>(state.workspace);
  if (!s.root.defined()) return {};
  return {{"curvature", s.curvature}, {"diagonal", s.diagonal}};
}

void AnyScaleSampler::restore(ChainState& state, const NamedTensors& learned) const {
  if (learned.empty()) return;
  require(options_.rule.has_value(), "the sampler learns no curvature, but one is given");
  torch::Tensor w, d;
  for (const auto& [name, tensor] : learned) {
    require(name == "curvature" || name == "diagonal",
            "'{}' is not a tensor that the sampler learns; it learns curvature and diagonal", name);
    (name == "curvature" ? w : d) = tensor.to(torch::kCPU, torch::kFloat64);
  }
  require(w.defined() && d.defined(), "curvature and diagonal must be given together");
  require(w.dim() == 2 && w.size(0) == state.sites() && d.dim() == 1 && d.size(0) == state.sites(),
          "curvature and diagonal must be [D, D] and [D] with D = {}", state.sites());
  set_curvature(state, w, d, gaussian_root(w, d));
}

namespace {

AnyScaleOptions any_scale_options(const SamplerOptions& options, std::optional<DiagonalRule> rule) {
  AnyScaleOptions own{.rule = rule};
  if (options.sigma) {
    own.sigma = *options.sigma;
    own.alpha = *options.alpha;
    own.search = false;
  }
  return own;
}

// Makes a sampler with that DiagonalRule; −1 means no rule.
template <int rule>
std::unique_ptr<Sampler> make_any_scale(const SamplerOptions& options, const EnergyModel&) {
  std::optional<DiagonalRule> d;
  if (rule >= 0) d = static_cast<DiagonalRule>(rule);
  return std::make_unique<AnyScaleSampler>(any_scale_options(options, d));
}

// Returns the variances of the data that a network's base distribution describes, or those of
// uniform values if it has no base distribution.
torch::Tensor variances_of(const EnergyModel& model) {
  const torch::Tensor mean = model.base_mean();
  if (mean.defined()) return mean * (1 - mean);
  const StateSpace space = model.space();
  const auto values = static_cast<double>(space.categories);
  return torch::full({space.sites}, (values * values - 1) / 12, torch::kFloat64);
}

std::unique_ptr<Sampler> make_of_variances(const SamplerOptions& options,
                                           const EnergyModel& model) {
  AnyScaleOptions all = any_scale_options(options, std::nullopt);
  all.diagonal_curvature = curvature_of_variances(variances_of(model));
  return std::make_unique<AnyScaleSampler>(std::move(all));
}

void check_both(const SamplerOptions& options, const EnergyModel&) {
  require_options(options.sigma.has_value() == options.alpha.has_value(),
                  "`sigma` and `alpha` must be given together; both then stay fixed");
}

SamplerEntry entry(const char* name, const char* summary,
                   std::unique_ptr<Sampler> (*make)(const SamplerOptions&, const EnergyModel&)) {
  return {.name = name,
          .summary = summary,
          .paper = "Sun et al. 2023",
          .needs = "gradient",
          .kinds = {StateKind::kBinary, StateKind::kOrdered},
          .options = {{.name = "sigma", .least = 0, .most = 1e12, .above_least = true},
                      {.name = "alpha", .least = 0, .most = 1}},
          .gradient = true,
          .make = make,
          .check = check_both};
}

// Counts the matrices held at once: XᵀX, XᵀS, their solution W, its symmetric part, and the factors
// of W + D.
SamplerEntry learned(SamplerEntry entry) {
  entry.site_matrices = 6;
  return entry;
}

constexpr int kShift = static_cast<int>(DiagonalRule::kShift);
constexpr int kMax = static_cast<int>(DiagonalRule::kMax);
constexpr int kTrace = static_cast<int>(DiagonalRule::kTrace);

}  // namespace

std::vector<SamplerEntry> any_scale_samplers() {
  return {
      entry("ab-1st", "any-scale balanced: all sites at once, by the gradient", make_any_scale<-1>),
      learned(entry("ab-shift", "any-scale balanced, curvature W learned; D = λI",
                    make_any_scale<kShift>)),
      learned(entry("ab-max", "any-scale balanced, curvature W learned; D of least λ_max(W + D)",
                    make_any_scale<kMax>)),
      learned(entry("ab-trace", "any-scale balanced, curvature W learned; D of least trace",
                    make_any_scale<kTrace>)),
      entry("ab-variance",
            "any-scale balanced, W_ii = -1/(1 + var_i) from the variances of a deep model's data; "
            "D = -W",
            make_of_variances)};
}

}  // namespace isinglass
