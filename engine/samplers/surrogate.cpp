// Implements surrogate transitions, and the registry entry of the sampler `surrogate`.
#include "engine/samplers/surrogate.h"

#include "engine/registry.h"
#include "io/error.h"
#include "kernels/random/streams.h"
#include "models/lattice/lattice_model.h"

namespace isinglass {
namespace {

constexpr double kMostSweeps = 64;

// The ways in which the base moves (surrogate.h).
enum class BaseSteps { kSweeps, kPalindrome, kSampler };

BaseSteps steps_of(EnergyModel& base) {
  HasSweeps* sweeps = base.sweeps();
  if (!sweeps) return BaseSteps::kSampler;
  LatticeModel* lattice = base.as_lattice();
  if (!lattice) return BaseSteps::kSweeps;
  // A lattice of one colour has no edges.
  const int64_t colours = lattice->lattice(lattice->device()).colour_offset.size(0) - 1;
  return colours > 1 ? BaseSteps::kPalindrome : BaseSteps::kSweeps;
}

std::unique_ptr<Sampler> sampler_of_base(const EnergyModel& base) {
  SamplerOptions options;
  options.base_moves = 0;
  const char* name = base.differentiable() && find_sampler("pafs").fits(base) ? "pafs" : "gibbs";
  return make_sampler(name, options, base);
}

struct SurrogateScratch : SamplerScratch {
  Workspace proposal;
  BaseSteps steps = BaseSteps::kSweeps;
  Statistics swept;  // counts of the base's sweeps, which are not reported
  // int64 [moves · (1 + inner), 2]: the bits in which the keys of a move differ from that of the
  // step, and {key, step} themselves. Every move has a row for its test and one for each of the
  // base's steps.
  torch::Tensor flips, rng;
  int64_t inner = 0;  // number of the base's steps in a move
  // These are the base's own chains, which exist if it moves by a sampler.
  std::unique_ptr<Sampler> sampler;
  ChainState chains;
  StepParams params;
};

torch::Tensor key_flips(int64_t rows, torch::Device device) {
  torch::Tensor flips = torch::zeros({rows, 2}, torch::kInt64);
  for (int64_t i = 0; i < rows; ++i) {
    flips[i][0] = static_cast<int64_t>(inner_key_bits(static_cast<uint64_t>(i)));
  }
  return flips.to(device);
}

// Moves proposal.y, and the base's evaluation there, by the base's steps. rows: {key, step} of each
// step, int64 [inner, 2].
void move_base(EnergyModel& base, const torch::Tensor& chain_ids, const torch::Tensor& rows,
               SurrogateScratch& own, Evaluation& at) {
  torch::Tensor& y = own.proposal.y;
  if (own.steps == BaseSteps::kSampler) {
    own.chains.x.copy_(y);
    own.sampler->reevaluate(base, own.chains);
    for (int64_t i = 0; i < own.inner; ++i) {
      own.params.rng.copy_(rows[i]);
      own.sampler->step(base, own.chains, own.params);
    }
    y.copy_(own.chains.x);
    base.evaluate_energy(y, at);
    return;
  }
  for (int64_t i = 0; i < own.inner; ++i) {
    if (own.steps == BaseSteps::kPalindrome) {
      base.as_lattice()->tempered_sweeps(1, {}, rows[i], chain_ids, y, at.energy, own.swept,
                                         /*backwards=*/2 * i >= own.inner);
    } else {
      base.sweeps()->gibbs_sweeps(1, rows[i], chain_ids, y, at, own.swept);
    }
  }
}

// Copies the base's evaluation at the chains' states to that at the proposals.
void copy_base(const Evaluation& from, const Evaluation& to) {
  torch::Tensor energy = to.energy;
  energy.copy_(from.energy);
  for (size_t i = 0; i < from.cache.size(); ++i) {
    torch::Tensor kept = to.cache[i];
    kept.copy_(from.cache[i]);
  }
}

}  // namespace

std::shared_ptr<SamplerScratch> SurrogateTransition::prepare(const EnergyModel& model,
                                                             const ChainState& state) const {
  HasBase* built = on_base(const_cast<EnergyModel&>(model));
  require_options(built,
                  "`base-moves` above 0 and `surrogate` propose by the base of a residual model, "
                  "but {} has no base, or its path of tempering does not start at the base",
                  model.title());
  EnergyModel& base = *built->base();
  const torch::Device device = state.x.device();
  auto own = std::make_shared<SurrogateScratch>();
  own->proposal.y = torch::empty_like(state.x);
  own->proposal.proposed = empty_like(state.current);
  own->proposal.log_forward = torch::zeros_like(state.current.energy);
  own->proposal.log_backward = torch::zeros_like(state.current.energy);
  own->steps = steps_of(base);
  own->inner = own->steps == BaseSteps::kPalindrome ? 2 * sweeps_ : sweeps_;
  own->swept = Statistics::create(state.chains(), device);
  own->flips = key_flips(moves_ * (1 + own->inner), device);
  own->rng = torch::zeros_like(own->flips);
  if (own->steps == BaseSteps::kSampler) {
    own->sampler = sampler_of_base(base);
    own->chains = own->sampler->init(base, state.x, state.chain_ids);
    own->params = own->sampler->params(0, device);
  }
  return own;
}

bool SurrogateTransition::captures(const EnergyModel& model) const {
  HasBase* built = on_base(const_cast<EnergyModel&>(model));
  if (!built) return false;
  EnergyModel& base = *built->base();
  if (steps_of(base) == BaseSteps::kSampler) return sampler_of_base(base)->captures(base);
  return base.capturable() && base.sweeps()->sweeps_capturable();
}

int64_t SurrogateTransition::move(EnergyModel& model, ChainState& state, const StepParams& params,
                                  Needs needs, SamplerScratch& scratch,
                                  ops::StepBuffers& counts) const {
  const torch::NoGradGuard no_grad;
  auto& own = static_cast<SurrogateScratch&>(scratch);
  HasBase& built = *on_base(model);
  Workspace& proposal = own.proposal;
  at::bitwise_xor_out(own.rng, params.rng.unsqueeze(0), own.flips);
  int64_t calls = 0;
  for (int64_t m = 0; m < moves_; ++m) {
    const torch::Tensor rows = own.rng.narrow(0, m * (1 + own.inner), 1 + own.inner);
    const Evaluation from = built.base_in(state.current);
    Evaluation to = built.base_in(proposal.proposed);
    proposal.y.copy_(state.x);
    copy_base(from, to);
    move_base(*built.base(), state.chain_ids, rows.narrow(0, 1, own.inner), own, to);
    at::neg_out(proposal.log_backward, from.energy);
    at::neg_out(proposal.log_forward, to.energy);
    if (needs == Needs::kDifferences) {
      calls += evaluate_differences(model, proposal.y, proposal.proposed);
    } else {
      built.evaluate_on_base(proposal.y, needs == Needs::kGradient, proposal.proposed);
      ++calls;
    }
    accept_proposal(state, proposal, rows[0], counts);
  }
  return calls;
}

void SurrogateSampler::prepare(const EnergyModel& model, ChainState& state) const {
  state.workspace.scratch = transition_.prepare(model, state);
}

bool SurrogateSampler::captures(const EnergyModel& model) const {
  return Sampler::captures(model) && transition_.captures(model);
}

StepInfo SurrogateSampler::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  const int64_t calls = transition_.move(model, state, params, Needs::kEnergy,
                                         *state.workspace.scratch, state.statistics);
  params.advance();
  return {.evaluations = calls};
}

std::vector<SamplerEntry> surrogate_samplers() {
  return {
      {.name = "surrogate",
       .summary = "surrogate transition: sweeps of the base, accepted by the network's term",
       .paper = "Liu 2001",
       .needs = "a base with moves of its own",
       .kinds = {StateKind::kBinary, StateKind::kCategorical, StateKind::kOrdered},
       .options =
           {{.name = "sweeps", .initial = 1, .least = 1, .most = kMostSweeps, .whole = true}},
       .gradient = false,
       .make = [](const SamplerOptions& options, const EnergyModel&) -> std::unique_ptr<Sampler> {
         return std::make_unique<SurrogateSampler>(static_cast<int64_t>(*options.sweeps));
       },
       .on_base = true}};
}

}  // namespace isinglass
