// Implements the path samplers on lattices.
#include "engine/samplers/lattice_path.h"

#include <cmath>

#include "engine/samplers/path.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {
namespace {

struct LatticePathScratch : SamplerScratch {
  ops::LatticePaths paths;
  torch::Tensor one;      // float64 [1]: R = 1 of a single move
  torch::Tensor longest;  // int32 [steps per call]: the longest path length of each step
};

// Returns true if general steps are faster on a CPU. The unit of the estimates is the time of a
// bond in a fused step without kept fields, some 25 ns; they are fitted to the CPU time of steps on
// graphs of 500 to 2000 sites with 12 to 400 neighbours. scripts/dense_paths.py compares the choice
// with general steps.
//
// For each of `moves` moves, a fused step re-evaluates the neighbours of the moved site, each over
// its own neighbours: Σ_j d_j²/n bonds on average, for sites with d_j neighbours. With kept fields
// it adds to the neighbours' fields, and computes the weights of the sites with other fields anew:
// once, or, for exact differences, once a move. A general step evaluates all n sites and Σ_j d_j
// bonds, eight chains at once, or n² of a matrix: once, or once a move. With tables of couplings
// both read the K couplings of a bond together, which takes about as long.
bool general_steps_are_faster(const ops::LatticeTensors& lattice, bool one_hot, LocalTable what,
                              double moves) {
  constexpr double kFewNeighbours = 8;  // Grids have no more.
  constexpr double kPerSite = 0.36, kPerBond = 0.018, kPerTableBond = 0.8, kPerNumber = 0.0016;
  constexpr double kDifferences = 2.4;  // They cost more than a gradient.
  constexpr double kPerField = 0.33, kPerWeight = 1.04;
  const torch::Tensor degree = lattice.offset.diff().to(torch::kFloat64);
  const double mean = degree.mean().item<double>(), sites = static_cast<double>(degree.size(0));
  if (mean <= kFewNeighbours) return false;
  const bool exact = what == LocalTable::kDifferences, tables = lattice.coupling.dim() == 3;

  double fused = moves * degree.square().mean().item<double>();
  if (ops::LatticePaths::keeps_fields(lattice, one_hot)) {
    const double fields = moves * mean;
    fused =
        kPerField * fields + kPerWeight * (exact ? fields : sites * -std::expm1(-fields / sites));
  }
  const double of_bonds = ops::uses_products(lattice) ? kPerNumber * sites
                          : tables                    ? kPerTableBond * mean
                                                      : kPerBond * mean;
  const double evaluation = sites * (kPerSite + of_bonds);
  return fused > evaluation * (exact ? moves * (tables ? 1 : kDifferences) : 1);
}

bool allows_fused_steps(const EnergyModel& model, LocalTable what,
                        const std::optional<Scale>& radius, torch::Device device) {
  HasLocalSteps* local = local_steps_of(model);
  if (!local) return false;
  const ops::LatticeTensors& lattice = local->local_lattice().lattice(device);
  const bool one_hot = model.space().one_hot();
  if (device.is_cuda()) return ops::LatticePaths::fit(lattice, what, one_hot, device);
  return !general_steps_are_faster(lattice, one_hot, what, radius ? radius->initial : 1);
}

}  // namespace

HasLocalSteps* local_steps_of(const EnergyModel& model) {
  return const_cast<EnergyModel&>(model).local_steps();
}

std::unique_ptr<Sampler> make_lattice_path(const EnergyModel& model, LocalTable what, PathRule rule,
                                           std::optional<Scale> radius, Balancing balancing) {
  HasLocalSteps* local = local_steps_of(model);
  if (!local) return nullptr;
  const torch::Device device = local->local_lattice().device();
  if (!allows_fused_steps(model, what, radius, device)) return nullptr;
  return std::make_unique<LatticePathSampler>(what, rule, std::move(radius), balancing);
}

LatticePathSampler::LatticePathSampler(LocalTable what, PathRule rule, std::optional<Scale> radius,
                                       Balancing balancing)
    : what_(what),
      rule_(rule),
      radius_(std::move(radius)),
      balancing_(balancing),
      longest_(radius_ ? longest_path(*radius_) : 1),
      counts_longest_(what == LocalTable::kDifferences && longest_ > 1) {}

Needs LatticePathSampler::needs() const {
  return what_ == LocalTable::kDifferences ? Needs::kDifferences : Needs::kGradient;
}

std::vector<Scale> LatticePathSampler::scales() const {
  return radius_ ? std::vector<Scale>{*radius_} : std::vector<Scale>{};
}

void LatticePathSampler::prepare(const EnergyModel& model, ChainState& state) const {
  require_made_for(allows_fused_steps(model, what_, radius_, state.x.device()), model);
  auto scratch = std::make_shared<LatticePathScratch>();
  const int64_t at_once = state.x.is_cuda() ? kStepsALaunch : 1;
  scratch->one = torch::ones({1}, state.current.energy.options());
  scratch->longest = torch::ones({at_once}, state.x.options().dtype(torch::kInt32));
  state.workspace.proposed = {};
  state.workspace.scratch = scratch;
  begin(model, state);
}

// Computes the weights that the paths keep from step to step, for the present states.
void LatticePathSampler::begin(const EnergyModel& model, ChainState& state) const {
  auto& scratch = scratch_of<LatticePathScratch>(state.workspace);
  HasLocalSteps* local = local_steps_of(model);
  const LocalTensors at = local->local_tensors(state.current);
  state.workspace.y.copy_(state.x);
  scratch.paths = ops::LatticePaths::create(local->local_lattice().lattice(state.x.device()), what_,
                                            rule_, balancing_, state.x, at.table, at.beta, longest_,
                                            scratch.longest.size(0));
}

void LatticePathSampler::refresh_cache(const EnergyModel& model, ChainState& state) const {
  if (state.x.is_cpu()) begin(model, state);  // nothing is cached between calls on a GPU
}

void LatticePathSampler::states_replaced(ChainState& state, const torch::Tensor& chains) const {
  if (!state.x.is_cpu()) return;  // nothing is cached between calls on a GPU
  state.workspace.y.index_copy_(0, chains, state.x.index_select(0, chains));
  scratch_of<LatticePathScratch>(state.workspace)
      .paths.kept_beta.index_fill_(0, chains, std::nan(""));
}

int64_t LatticePathSampler::steps_at_once(const ChainState& state) const {
  return scratch_of<LatticePathScratch>(state.workspace).longest.size(0);
}

StepInfo LatticePathSampler::steps(EnergyModel& model, ChainState& state, StepParams& params,
                                   int64_t n) const {
  auto& scratch = scratch_of<LatticePathScratch>(state.workspace);
  if (n > steps_at_once(state)) return Sampler::steps(model, state, params, n);
  HasLocalSteps& local = *model.local_steps();
  LocalTensors at = local.local_tensors(state.current);
  ops::lattice_path_step(local.local_lattice().lattice(state.x.device()), n, params.rng,
                         state.chain_ids, radius_ ? params.scale : scratch.one, at.beta, state.x,
                         state.workspace.y, at.table, at.energy, scratch.paths, state.statistics);
  local.finish_local_steps(state.current);
  params.advance(n);
  if (!counts_longest_) return {.evaluations = n};
  torch::Tensor longest = scratch.longest.narrow(0, 0, n);
  at::amax_out(longest, scratch.paths.buffers.length.narrow(0, 0, n), {1});
  return {.evaluations = (n == 1 ? longest : longest.sum()).item<int64_t>()};
}

}  // namespace isinglass
