// Implements what all samplers share: initial states, the evaluation of proposals, the accept step.
#include "engine/sampler.h"

#include <cmath>
#include <limits>

#include "engine/adaptation/acceptance.h"
#include "engine/run/captured_work.h"
#include "io/error.h"
#include "models/states.h"

namespace isinglass {
namespace {

// Throws NonFinite if a value [B, …] is not finite. It tests their sum first, because counting the
// bad values allocates tensors of the values' size.
void require_finite(const torch::Tensor& values, const char* what, const torch::Tensor& chains) {
  if (std::isfinite(values.sum().item<double>())) return;
  const torch::Tensor bad = torch::isfinite(values).logical_not().reshape({values.size(0), -1});
  const torch::Tensor rows = bad.any(1).nonzero().flatten();
  if (rows.numel() == 0) return;
  throw NonFinite(fmt::format(
      "the {} is not finite at {} of the {} initial states, first at that "
      "of chain {}",
      what, rows.numel(), values.size(0), chains[rows[0].item<int64_t>()].item<int64_t>()));
}

// Throws Error unless the chains' numbers fit into 32 bits, as the counters of random numbers
// require.
void require_numbers_of_chains(const torch::Tensor& ids) {
  if (ids.numel() == 0) return;
  const int64_t least = ids.min().item<int64_t>(), most = ids.max().item<int64_t>();
  require(least >= 0 && most <= std::numeric_limits<uint32_t>::max(),
          "a chain has the number {}; 0 to {} are allowed", least < 0 ? least : most,
          std::numeric_limits<uint32_t>::max());
}

// Copies a tensor unless both are the same object, so that nothing is copied onto itself.
void copy_other(torch::Tensor& to, const torch::Tensor& from) {
  if (to.defined() && !to.is_same(from)) to.copy_(from);
}

// Adapts scale 0 of a sampler to a mean acceptance.
class ScaleWarmup : public HasWarmup {
 public:
  explicit ScaleWarmup(const Sampler& sampler) : sampler_(sampler) {}

  StepInfo burn_in_step(EnergyModel& model, ChainState& state, StepParams& params, int64_t t,
                        int64_t, const Ranks& ranks) const override {
    const StepInfo info = sampler_.step(model, state, params);
    const torch::Tensor moved = ranks.mean(state.statistics.hops.ne(0).to(torch::kFloat64));
    const torch::Tensor acceptance = ranks.mean(state.statistics.acceptance);
    const double target = sampler_.target_acceptance();
    adapt_scale(params.scale.select(0, 0), sampler_.scales().front(),
                informative_acceptance(acceptance, moved, target), t, target);
    return info;
  }
  bool saves_warmup() const override { return true; }
  Adaptation adaptation(const ChainState&, const StepParams& params,
                        const BurnIn& burn_in) const override {
    if (burn_in.steps == 0) return {.warning = "`adapt` acts in burn-in, and there was no burn-in"};
    return adapted_scale(params.scale[0].item<double>(), sampler_.scales().front(), burn_in,
                         sampler_.target_acceptance());
  }

 private:
  const Sampler& sampler_;
};

}  // namespace

Sampler::~Sampler() = default;

void Sampler::adapt_to(double target_acceptance) {
  target_acceptance_ = target_acceptance;
  adaptation_ = std::make_unique<ScaleWarmup>(*this);
}

void Sampler::set_identity(std::string name, PtDict settings, Remake remake) {
  name_ = std::move(name);
  settings_ = std::move(settings);
  remake_ = std::move(remake);
}

void Sampler::require_made_for(bool suits, const EnergyModel& model) const {
  require(suits,
          "this sampler {} was made for another model or device than {}; make_sampler() makes one "
          "for it",
          name_, model.title());
}

int64_t Sampler::evaluate(EnergyModel& model, const torch::Tensor& x, Evaluation& out) const {
  switch (needs()) {
    case Needs::kEnergy:
      model.evaluate_energy(x, out);
      return 1;
    case Needs::kGradient:
      model.evaluate(x, out);
      return 1;
    case Needs::kDifferences:
      break;
  }
  return evaluate_differences(model, x, out);
}

void Sampler::require_finite_start(const ChainState& state) const {
  require_finite(state.current.energy, "energy", state.chain_ids);
  if (state.current.gradient.defined()) {
    require_finite(state.current.gradient, "gradient", state.chain_ids);
  }
}

ChainState Sampler::init(EnergyModel& model, const torch::Tensor& x,
                         const torch::Tensor& chain_ids) const {
  check_space(model.space(), model.title());
  ChainState state;
  state.x = as_states(model.space(), x, "the initial states").clone(at::MemoryFormat::Contiguous);
  state.chain_ids = chain_ids.to(x.device(), torch::kInt64).contiguous();
  require_numbers_of_chains(state.chain_ids);
  state.statistics = Statistics::create(x.size(0), x.device());
  evaluate(model, state.x, state.current);
  require_finite_start(state);
  state.workspace.y = torch::empty_like(state.x);
  state.workspace.proposed = empty_like(state.current);
  prepare(model, state);
  return state;
}

// Evaluates into a copy of the handles, because a model may replace the tensors that it is given by
// its own.
void Sampler::reevaluate(EnergyModel& model, ChainState& state) const {
  Evaluation& current = state.current;
  Evaluation fresh = current;
  evaluate(model, state.x, fresh);
  copy_other(current.energy, fresh.energy);
  copy_other(current.gradient, fresh.gradient);
  copy_other(current.differences, fresh.differences);
  for (size_t i = 0; i < current.cache.size(); ++i) copy_other(current.cache[i], fresh.cache[i]);
  refresh_cache(model, state);
}

void Sampler::reset(EnergyModel& model, ChainState& state, const torch::Tensor& x,
                    const torch::Tensor& chain_ids, CapturedWork* graph) const {
  check_states(model.space(), x, "the initial states");
  require(
      x.size(0) == state.chains() && chain_ids.numel() == state.chains(),
      "{} chains cannot restart at {} states with {} chain numbers; the three counts must be equal",
      state.chains(), x.size(0), chain_ids.numel());
  state.x.copy_(x);
  state.chain_ids.copy_(chain_ids);
  state.statistics.clear();
  if (graph) {
    graph->run(x.device(), [&] { reevaluate(model, state); });
  } else {
    reevaluate(model, state);
  }
  require_finite_start(state);
}

StepInfo Sampler::steps(EnergyModel& model, ChainState& state, StepParams& params,
                        int64_t n) const {
  StepInfo info;
  for (int64_t t = 0; t < n; ++t) info.evaluations += step(model, state, params).evaluations;
  return info;
}

void HasWarmup::restore(ChainState&, const NamedTensors& learned) const {
  require(learned.empty(), "the sampler learns no tensors, but learned tensors are given");
}

StepParams Sampler::params(uint64_t seed, torch::Device device, int64_t step) const {
  std::vector<double> initial;
  for (const Scale& scale : scales()) initial.push_back(scale.initial);
  return StepParams::create(seed, initial, device, step);
}

int64_t Sampler::evaluate_proposal(EnergyModel& model, ChainState& state) const {
  Workspace& workspace = state.workspace;
  if (needs() == Needs::kDifferences) return evaluate(model, workspace.y, workspace.proposed);
  model.evaluate_moved(state.x, state.current, workspace.y, needs() == Needs::kGradient,
                       workspace.proposed);
  return 1;
}

void Sampler::accept(ChainState& state, StepParams& params, bool unadjusted, int64_t group) {
  accept_proposal(state, state.workspace, params.rng, state.statistics, unadjusted, group);
  params.advance();
}

}  // namespace isinglass
