// Implements the jump samplers and their entries in the registry.
#include "engine/samplers/jump.h"

#include <algorithm>

#include "engine/registry.h"
#include "io/error.h"
#include "kernels/ops/jump.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {
namespace {

struct JumpScratch : SamplerScratch {
  ops::LatticeJumps local;
};

// Returns the neighbourhood table that fused lattice steps read; null if a model has none, and
// steps use gradients.
const ops::NeighbourhoodTensors* local_table_of(const EnergyModel& model) {
  const LatticeModel* lattice = model.as_lattice();
  if (!lattice || model.space().one_hot()) return nullptr;
  return lattice->neighbourhoods();
}

constexpr double kLeastScale = 1e-6, kMostScale = 1e6;  // range in which τ and a adapt

template <JumpRule rule>
std::unique_ptr<Sampler> make(const SamplerOptions& options, const EnergyModel&) {
  const bool langevin = rule == JumpRule::kLangevin;
  const double scale = langevin ? *options.step_size : *options.tau;
  return std::make_unique<JumpSampler>(
      rule, Scale{langevin ? "step-size" : "tau", scale, std::min(scale, kLeastScale), kMostScale},
      options.balancing, options.unadjusted);
}

void check_categories(const SamplerOptions&, const EnergyModel& model) {
  require(model.space().categories <= kMaxSolvedCategories,
          "lbjb solves a {0} x {0} system for every site and allows at most {1} categories; lbj, "
          "lbjf and dlp allow any number",
          model.space().categories, kMaxSolvedCategories);
}

void check_test(const SamplerOptions& options, const EnergyModel&) {
  require_options(!options.adapt || !options.unadjusted,
                  "`adapt` aims at a mean acceptance, which `unadjusted` does not have; only one "
                  "of them can be given");
}

std::vector<SamplerOptionUse> with_adaptation(std::vector<SamplerOptionUse> options) {
  for (SamplerOptionUse& use : adaptation_options(0.574)) options.push_back(std::move(use));
  return options;
}

SamplerOptionUse scale_option(const char* name, double initial) {
  return {.name = name, .initial = initial, .least = 0, .most = kMostScale, .above_least = true};
}

// Makes the entry of lbj, lbjf or lbjb.
SamplerEntry timed_entry(const char* name, const char* summary,
                         std::unique_ptr<Sampler> (*make)(const SamplerOptions&,
                                                          const EnergyModel&)) {
  return {.name = name,
          .summary = summary,
          .paper = "Sun et al. 2022",
          .needs = "gradient",
          .kinds = {StateKind::kBinary, StateKind::kCategorical, StateKind::kOrdered},
          .options = with_adaptation({scale_option("tau", 1.0), balancing_option()}),
          .gradient = true,
          .make = make};
}

}  // namespace

void JumpSampler::prepare(const EnergyModel& model, ChainState& state) const {
  if (local_table_of(model) && ops::LatticeJumps::fit(state.x)) {
    auto scratch = std::make_shared<JumpScratch>();
    scratch->local = {rule_, balancing_, unadjusted_};
    state.workspace.scratch = scratch;
    state.current.gradient = torch::Tensor();
    state.workspace.proposed = {};
    return;
  }
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

void JumpSampler::refresh_cache(const EnergyModel&, ChainState& state) const {
  if (state.workspace.scratch) {
    // The scale 0 marks the thresholds as out of date.
    static_cast<JumpScratch&>(*state.workspace.scratch).local.scale = 0;
  }
}

StepInfo JumpSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  Workspace& workspace = state.workspace;
  if (workspace.scratch) return steps(model, state, params, 1);
  const int64_t categories = model.space().categories;
  ops::draw_jump(state.x, state.current.gradient, params.rng, state.chain_ids, params.scale,
                 categories, rule_, balancing_, workspace.y, workspace.log_forward);
  evaluate_proposal(model, state);
  ops::score_jump(workspace.y, workspace.proposed.gradient, state.x, params.scale, categories,
                  rule_, balancing_, workspace.log_backward);
  accept(state, params, unadjusted_);
  return {.evaluations = 1};
}

StepInfo JumpSampler::steps(EnergyModel& model, ChainState& state, StepParams& params,
                            int64_t n) const {
  if (!state.workspace.scratch) return Sampler::steps(model, state, params, n);
  const ops::NeighbourhoodTensors* neighbourhoods = local_table_of(model);
  TORCH_CHECK(neighbourhoods, "the neighbourhoods of the lattice are missing");
  ops::lattice_jump_step(*neighbourhoods, n, params.rng, state.chain_ids, params.scale,
                         static_cast<JumpScratch&>(*state.workspace.scratch).local, state.x,
                         state.current.energy, state.statistics);
  params.advance(n);
  return {.evaluations = n};
}

int64_t JumpSampler::steps_at_once(const ChainState& state) const {
  return state.workspace.scratch && state.x.is_cuda() ? kStepsALaunch : 1;
}

std::vector<SamplerEntry> jump_samplers() {
  std::vector<SamplerEntry> entries = {
      timed_entry("lbj", "locally balanced jumps of all sites for a time tau, interpolated",
                  make<JumpRule::kInterpolation>),
      timed_entry("lbjf", "locally balanced jumps of all sites, forward Euler",
                  make<JumpRule::kForwardEuler>),
      timed_entry("lbjb", "locally balanced jumps of all sites, backward Euler",
                  make<JumpRule::kBackwardEuler>)};
  entries.back().check = check_categories;
  entries.push_back(
      {.name = "dlp",
       .summary = "discrete Langevin proposal: all sites at once",
       .paper = "Zhang et al. 2022",
       .needs = "gradient",
       .kinds = {StateKind::kBinary, StateKind::kCategorical, StateKind::kOrdered},
       .options = with_adaptation({scale_option("step-size", 0.2), {.name = "unadjusted"}}),
       .gradient = true,
       .make = make<JumpRule::kLangevin>,
       .check = check_test});
  return entries;
}

}  // namespace isinglass
