// Implements Gibbs sampling with its three scans, and its entry in the registry.
#include "engine/samplers/gibbs.h"

#include "engine/registry.h"
#include "engine/samplers/lattice_path.h"
#include "io/error.h"
#include "kernels/ops/gibbs.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {
namespace {

struct GibbsScratch : SamplerScratch {
  torch::Tensor site;        // int64 [B]
  torch::Tensor turn;        // int64 [1]: the step number, in a reversed systematic scan
  torch::Tensor difference;  // float64 [B, K]
  torch::Tensor choice;      // int64 [B]: the neighbour moved to, −1 if none
  torch::Tensor neighbours;  // uint8 [B·(K − 1), D], for models without conditionals
};

struct ClusterScratch : SamplerScratch {
  ops::Scratch memory;
};

// The largest group of chains that exchange clusters.
constexpr double kMostInGroup = 1024;

// Returns true if the model's conditionals are computed by its lattice kernel.
bool has_lattice(const EnergyModel& model) {
  const LatticeModel* lattice = model.as_lattice();
  return lattice && model.conditionals() == lattice;
}

void require_sweeps(const EnergyModel& model) {
  require_options(model.sweeps(),
                  "`scan` chromatic needs a sparse graph, whose sites of one colour are drawn "
                  "together, or an rbm, whose sites are drawn given the hidden units; {} is "
                  "neither, so that `scan` must be random or systematic",
                  model.title());
}

void check_scan(const SamplerOptions& options, const EnergyModel& model) {
  if (options.scan == Scan::kChromatic) require_sweeps(model);
}

}  // namespace

void take_cache(const torch::Tensor& choice, const std::vector<torch::Tensor>& of_candidates,
                std::vector<torch::Tensor>& cache) {
  for (size_t i = 0; i < cache.size(); ++i) {
    const int64_t chains = choice.size(0), each = of_candidates[i].size(0) / chains;
    const auto row = torch::arange(chains, choice.options()) * each + choice.clamp_min(0);
    std::vector<int64_t> shape(cache[i].dim(), 1);
    shape[0] = chains;
    const auto moved = (choice >= 0).view(shape);
    cache[i].copy_(torch::where(moved, of_candidates[i].index_select(0, row), cache[i]));
  }
}

void GibbsSampler::prepare(const EnergyModel& model, ChainState& state) const {
  const int64_t chains = state.chains(), categories = model.space().categories;
  const auto whole = torch::TensorOptions(torch::kInt64).device(state.x.device());
  auto scratch = std::make_shared<GibbsScratch>();
  state.workspace.scratch = scratch;
  scratch->site = torch::zeros({chains}, whole);
  scratch->turn = torch::zeros({1}, whole);
  scratch->choice = torch::zeros({chains}, whole);
  scratch->difference = torch::zeros({chains, categories}, whole.dtype(torch::kFloat64));
  if (!model.conditionals()) {
    scratch->neighbours =
        torch::empty({chains * (categories - 1), state.sites()}, state.x.options());
    // It will hold the evaluations of the neighbours; the first step allocates its buffers.
    state.workspace.proposed = {};
  }
}

std::unique_ptr<Sampler> GibbsSampler::reversed(int64_t last) const {
  if (scan_ != Scan::kSystematic) return nullptr;
  TORCH_INTERNAL_ASSERT(!last_, "a reversed sampler cannot be reversed again");
  auto sampler = std::make_unique<GibbsSampler>(scan_, last);
  sampler->set_identity(name(), settings());
  return sampler;
}

StepInfo GibbsSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  auto& scratch = scratch_of<GibbsScratch>(state.workspace);
  Evaluation& neighbours = state.workspace.proposed;
  const int64_t categories = scratch.difference.size(1);
  if (last_) {
    scratch.turn.copy_(params.rng.narrow(0, 1, 1));
    scratch.site.copy_(scratch.turn.neg_().add_(*last_).remainder_(state.sites()));
  } else {
    ops::choose_sites(params.rng, state.chain_ids, state.sites(), scan_ == Scan::kSystematic,
                      scratch.site);
  }
  HasConditionals* conditionals = model.conditionals();
  if (conditionals) {
    conditionals->conditional_differences(state.x, scratch.site, scratch.difference);
  } else {
    ops::one_site_neighbours(state.x, scratch.site, categories, scratch.neighbours);
    model.evaluate_energy(scratch.neighbours, neighbours);
    ops::neighbour_differences(state.x, scratch.site, state.current.energy, neighbours.energy,
                               scratch.difference);
  }
  ops::draw_conditionals(scratch.difference, scratch.site, params.rng, state.chain_ids, state.x,
                         state.current.energy, scratch.choice, state.statistics);
  if (conditionals) {
    conditionals->update_after_move(state.x, state.current);
  } else {
    take_cache(scratch.choice, neighbours.cache, state.current.cache);
  }
  params.advance();
  return {.evaluations = conditionals ? 1 : categories - 1};
}

void LatticeGibbsSampler::prepare(const EnergyModel& model, ChainState&) const {
  require_made_for(has_lattice(model), model);
}

StepInfo LatticeGibbsSampler::steps(EnergyModel& model, ChainState& state, StepParams& params,
                                    int64_t n) const {
  ops::lattice_gibbs_steps(model.as_lattice()->lattice(state.x.device()), n,
                           scan_ == Scan::kSystematic, params.rng, state.chain_ids, state.x,
                           state.current.energy, state.statistics);
  params.advance(n);
  return {.evaluations = n};
}

void SweepSampler::prepare(const EnergyModel& model, ChainState&) const {
  require_sweeps(model);
}

bool SweepSampler::captures(const EnergyModel& model) const {
  const HasSweeps* sweeps = model.sweeps();
  return Sampler::captures(model) && (!sweeps || sweeps->sweeps_capturable());
}

StepInfo SweepSampler::steps(EnergyModel& model, ChainState& state, StepParams& params,
                             int64_t n) const {
  const int64_t calls = model.sweeps()->gibbs_sweeps(n, params.rng, state.chain_ids, state.x,
                                                     state.current, state.statistics);
  params.advance(n);
  return {.evaluations = calls};
}

void ClusterGibbsSampler::prepare(const EnergyModel& model, ChainState& state) const {
  require_made_for(local_steps_of(model), model);
  require_option(state.chains() % group_ == 0, "chains", state.chains(),
                 "it must be a multiple of `group` {}", group_);
  state.workspace.scratch = std::make_shared<ClusterScratch>();
}

StepInfo ClusterGibbsSampler::steps(EnergyModel& model, ChainState& state, StepParams& params,
                                    int64_t n) const {
  if (n > 1) return Sampler::steps(model, state, params, n);
  const int64_t calls = model.sweeps()->gibbs_sweeps(1, params.rng, state.chain_ids, state.x,
                                                     state.current, state.statistics);
  HasLocalSteps& local = *model.local_steps();
  LocalTensors at = local.local_tensors(state.current);
  ops::exchange_clusters(local.local_lattice().lattice(state.x.device()), group_, params.rng,
                         state.chain_ids, at.beta, state.x, at.energy,
                         scratch_of<ClusterScratch>(state.workspace).memory);
  local.finish_local_steps(state.current);
  params.advance();
  return {.evaluations = calls};
}

void MetropolisSweepSampler::prepare(const EnergyModel& model, ChainState&) const {
  require_made_for(local_steps_of(model), model);
}

StepInfo MetropolisSweepSampler::steps(EnergyModel& model, ChainState& state, StepParams& params,
                                       int64_t n) const {
  HasLocalSteps& local = *model.local_steps();
  LocalTensors at = local.local_tensors(state.current);
  local.local_lattice().tempered_sweeps(n, at.beta, params.rng, state.chain_ids, state.x, at.energy,
                                        state.statistics, backwards_, SiteRule::kMetropolis);
  local.finish_local_steps(state.current);
  params.advance(n);
  return {.evaluations = n};
}

std::unique_ptr<Sampler> MetropolisSweepSampler::reversed(int64_t) const {
  auto sampler = std::make_unique<MetropolisSweepSampler>(!backwards_);
  sampler->set_identity(name(), settings());
  return sampler;
}

std::vector<SamplerEntry> gibbs_samplers() {
  return {
      {.name = "gibbs",
       .summary =
           "one site, or all conditionally independent sites together, from exact conditionals",
       .paper = "Geman & Geman 1984",
       .needs = "conditionals, or K - 1 model calls",
       .kinds = {StateKind::kBinary, StateKind::kCategorical, StateKind::kOrdered},
       .options = {{.name = "scan"}},
       .gradient = false,
       .make = [](const SamplerOptions& options, const EnergyModel&) -> std::unique_ptr<Sampler> {
         if (options.scan == Scan::kChromatic) return std::make_unique<SweepSampler>();
         return std::make_unique<GibbsSampler>(options.scan);
       },
       .make_on_lattice = [](const SamplerOptions& options,
                             const EnergyModel& model) -> std::unique_ptr<Sampler> {
         if (options.scan == Scan::kChromatic || !has_lattice(model)) return nullptr;
         return std::make_unique<LatticeGibbsSampler>(options.scan);
       },
       .check = check_scan},
      {.name = "cluster-gibbs",
       .summary = "chromatic sweeps of a lattice, between which the chains of a group exchange "
                  "clusters of sites in which they differ",
       .paper = "Houdayer 2001",
       .needs = "a lattice",
       .kinds = {StateKind::kBinary, StateKind::kCategorical},
       .options =
           {{.name = "group", .initial = 10, .least = 1, .most = kMostInGroup, .whole = true}},
       .gradient = false,
       .make = [](const SamplerOptions& options, const EnergyModel&) -> std::unique_ptr<Sampler> {
         return std::make_unique<ClusterGibbsSampler>(static_cast<int64_t>(*options.group));
       },
       .on_lattice = true,
       .exchanges = true},
      {.name = "metropolis",
       .summary =
           "sweeps of a lattice that flip each site with probability min(1, exp(-d)), where d "
           "is the change of the energy; conditionally independent sites together",
       .paper = "Metropolis et al. 1953",
       .needs = "a lattice",
       .kinds = {StateKind::kBinary},
       .options = {},
       .gradient = false,
       .make = [](const SamplerOptions&, const EnergyModel&) -> std::unique_ptr<Sampler> {
         return std::make_unique<MetropolisSweepSampler>();
       },
       .on_lattice = true}};
}

}  // namespace isinglass
