// Implements the jump samplers and their entries in the registry.
#include "engine/samplers/jump.h"

#include <algorithm>

#include "engine/registry.h"
#include "io/error.h"
#include "kernels/ops/jump.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {
namespace {

struct LatticeJumpScratch : SamplerScratch {
  ops::LatticeJumps jumps;
};

// Returns the neighbourhood table that steps on the lattice read; null if the lattice allows none.
const ops::NeighbourhoodTensors* table_of(const LatticeModel& lattice) {
  return lattice.space().one_hot() ? nullptr : lattice.neighbourhoods();
}

// Returns true if the model is a lattice with a table, and the device has room for a chain.
bool allows_table(const EnergyModel& model, torch::Device device) {
  const LatticeModel* lattice = model.as_lattice();
  return lattice && table_of(*lattice) && ops::LatticeJumps::fit(model.space().sites, device);
}

constexpr double kLeastScale = 1e-6, kMostScale = 1e6;  // range in which τ and a adapt

template <JumpRule rule, class Kind>
std::unique_ptr<Sampler> make_jump(const SamplerOptions& options, const EnergyModel&) {
  const bool langevin = rule == JumpRule::kLangevin;
  const double scale = langevin ? *options.step_size : *options.tau;
  return std::make_unique<Kind>(
      rule, Scale{langevin ? "step-size" : "tau", scale, std::min(scale, kLeastScale), kMostScale},
      options.balancing, options.unadjusted);
}

template <JumpRule rule>
std::unique_ptr<Sampler> make_jump_on_lattice(const SamplerOptions& options,
                                              const EnergyModel& model) {
  LatticeModel* lattice = const_cast<EnergyModel&>(model).as_lattice();
  if (!lattice) return nullptr;
  lattice->lattice(lattice->device());  // its table exists only once it has been made
  if (!allows_table(model, lattice->device())) return nullptr;
  return make_jump<rule, LatticeJumpSampler>(options, model);
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

SamplerOptionUse scale_option(const char* name, double initial) {
  return {.name = name, .initial = initial, .least = 0, .most = kMostScale, .above_least = true};
}

template <JumpRule rule>
SamplerEntry entry(const char* name, const char* summary, const char* paper,
                   std::vector<SamplerOptionUse> options) {
  for (SamplerOptionUse& use : adaptation_options(0.574)) options.push_back(std::move(use));
  return {.name = name,
          .summary = summary,
          .paper = paper,
          .needs = "gradient",
          .kinds = {StateKind::kBinary, StateKind::kCategorical, StateKind::kOrdered},
          .options = std::move(options),
          .gradient = true,
          .make = make_jump<rule, JumpSampler>,
          .make_on_lattice = make_jump_on_lattice<rule>};
}

template <JumpRule rule>
SamplerEntry timed_entry(const char* name, const char* summary) {
  return entry<rule>(name, summary, "Sun et al. 2022",
                     {scale_option("tau", 1.0), balancing_option()});
}

}  // namespace

void JumpSampler::prepare(const EnergyModel&, ChainState& state) const {
  state.workspace.log_forward = torch::zeros_like(state.current.energy);
  state.workspace.log_backward = torch::zeros_like(state.current.energy);
}

StepInfo JumpSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  Workspace& workspace = state.workspace;
  const int64_t categories = model.space().categories;
  ops::draw_jump(state.x, state.current.gradient, params.rng, state.chain_ids, params.scale,
                 categories, rule_, balancing_, workspace.y, workspace.log_forward);
  evaluate_proposal(model, state);
  ops::score_jump(workspace.y, workspace.proposed.gradient, state.x, params.scale, categories,
                  rule_, balancing_, workspace.log_backward);
  accept(state, params, unadjusted_);
  return {.evaluations = 1};
}

void LatticeJumpSampler::prepare(const EnergyModel& model, ChainState& state) const {
  require_made_for(allows_table(model, state.x.device()), model);
  auto scratch = std::make_shared<LatticeJumpScratch>();
  scratch->jumps = {rule_, balancing_, unadjusted_};
  state.workspace.scratch = scratch;
  state.workspace.proposed = {};
}

void LatticeJumpSampler::refresh_cache(const EnergyModel&, ChainState& state) const {
  scratch_of<LatticeJumpScratch>(state.workspace).jumps.scale =
      0;  // marks the thresholds as out of date
}

StepInfo LatticeJumpSampler::steps(EnergyModel& model, ChainState& state, StepParams& params,
                                   int64_t n) const {
  const ops::NeighbourhoodTensors* neighbourhoods = table_of(*model.as_lattice());
  TORCH_CHECK(neighbourhoods, "the neighbourhoods of the lattice are missing");
  ops::lattice_jump_step(*neighbourhoods, n, params.rng, state.chain_ids, params.scale,
                         scratch_of<LatticeJumpScratch>(state.workspace).jumps, state.x,
                         state.current.energy, state.statistics);
  params.advance(n);
  return {.evaluations = n};
}

int64_t LatticeJumpSampler::steps_at_once(const ChainState& state) const {
  return state.x.is_cuda() ? kStepsALaunch : 1;
}

std::vector<SamplerEntry> jump_samplers() {
  std::vector<SamplerEntry> entries = {
      timed_entry<JumpRule::kInterpolation>(
          "lbj", "locally balanced jumps of all sites for a time tau, interpolated"),
      timed_entry<JumpRule::kForwardEuler>("lbjf",
                                           "locally balanced jumps of all sites, forward Euler"),
      timed_entry<JumpRule::kBackwardEuler>("lbjb",
                                            "locally balanced jumps of all sites, backward Euler"),
      entry<JumpRule::kLangevin>("dlp", "discrete Langevin proposal: all sites at once",
                                 "Zhang et al. 2022",
                                 {scale_option("step-size", 0.2), {.name = "unadjusted"}})};
  entries[2].check = check_categories;
  entries[3].check = check_test;
  return entries;
}

}  // namespace isinglass
