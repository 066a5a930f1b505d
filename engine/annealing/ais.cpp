// Implements annealed importance sampling; ais_checkpoint.cpp implements its checkpoints.
#include "engine/annealing/ais.h"

#include <algorithm>
#include <cmath>

#include "engine/diagnostics/energy_rounding.h"
#include "engine/stop_consensus.h"
#include "io/error.h"
#include "io/sha256.h"
#include "kernels/random/counters.h"
#include "models/full_precision.h"

namespace isinglass {
namespace {

constexpr int64_t kLargestPilot = 1000;
// The pilot has at least so many chains, because their deviations determine the schedule.
constexpr int64_t kPilotChains = 16;

// Returns Σ (a − ā)(b − b̄) / (n − 1).
double covariance(const torch::Tensor& a, const torch::Tensor& b) {
  const auto n = static_cast<double>(a.numel());
  return ((a - a.mean()) * (b - b.mean())).sum().item<double>() / (n - 1);
}

// Throws NonFinite if an energy is NaN or −∞, or if the model forbids the initial states of all
// chains.
void require_weights(const torch::Tensor& energy) {
  const int64_t finite = torch::isfinite(energy).sum().item<int64_t>(), all = energy.numel();
  const bool numbers = (energy > -INFINITY).all().item<bool>();
  if (all == 0 || (finite > 0 && numbers)) return;
  throw NonFinite(
      fmt::format("the energy is not finite at {} of the {} initial values", all - finite, all));
}

// Returns the states [B, D], where those of chains without weight, which may still be at a state
// that the model forbids, are replaced by states of the other chains in turn.
torch::Tensor with_weight(const torch::Tensor& x, const torch::Tensor& log_weights) {
  const torch::Tensor weighed = torch::isfinite(log_weights);
  const torch::Tensor rows = weighed.nonzero().flatten();
  const torch::Tensor own = torch::arange(x.size(0), rows.options());
  return x.index_select(
      0, torch::where(weighed, own, rows.index_select(0, own.remainder(rows.size(0)))));
}

// Returns how much a step adds to the variance of the log-weights, over the chains that have a
// finite weight. Chains that began at a state which the model forbids have none.
double added_variance(const torch::Tensor& added, const torch::Tensor& before) {
  const torch::Tensor weighed = torch::isfinite(added + before);
  const torch::Tensor a = added.masked_select(weighed), b = before.masked_select(weighed);
  return a.numel() > 1 ? 2 * covariance(a, b) + covariance(a, a) : 0;
}

// Restores the cache of the chains' evaluation. A new evaluation could differ from it in the last
// bits, since the cache may hold sums of moves.
void restore_cache(const std::vector<torch::Tensor>& saved, std::vector<torch::Tensor>& cache) {
  require(saved.size() == cache.size(),
          "the annealing checkpoint keeps {} tensors per state, not {}", saved.size(),
          cache.size());
  for (size_t i = 0; i < cache.size(); ++i) {
    require(
        saved[i].sizes() == cache[i].sizes() && saved[i].scalar_type() == cache[i].scalar_type(),
        "the annealing checkpoint keeps the tensors of another model");
    cache[i].copy_(saved[i]);
  }
}

}  // namespace

LogZDiagnostics AisResult::diagnostics() const {
  LogZDiagnostics diagnostics{log_z, weight_ess, log_weights.numel()};
  if (reverse) {
    diagnostics.reverse = LogZDiagnostics::Reverse{reverse->log_z_upper, reverse->weight_ess,
                                                   reverse->rhat, reverse->round_trips};
  }
  return diagnostics;
}

LogZBounds AisResult::bounds() const {
  LogZBounds bounds{.forward = log_z, .forward_se = log_z_se};
  if (reverse) {
    bounds.reverse = reverse->log_z_upper;
    bounds.both = reverse->log_z_bidirectional;
    bounds.reverse_se = reverse->log_z_upper_se;
  }
  return bounds;
}

AnnealedImportanceSampling::AnnealedImportanceSampling(EnergyModel& model, const Sampler& sampler,
                                                       const Factorised& start,
                                                       const AisOptions& options,
                                                       torch::Device device, const Ranks& ranks)
    : target_(model),
      path_(make_path(options.path, model, start, device)),
      remade_(sampler.for_model(path_->model())),
      sampler_(remade_ ? *remade_ : sampler),
      start_(start),
      options_(options),
      device_(device),
      ranks_(ranks) {
  require_options(
      sampler.exact(),
      "annealing needs steps that leave the distribution invariant, and {} is not exact",
      sampler.name());
  require_options(!sampler.is_interacting(),
                  "annealing needs chains that move independently; {} pulls the chains of a group "
                  "towards each other",
                  sampler.name());
  require_option(options.chains >= 1, "chains", options.chains, "at least 1 is needed");
  require_option(options.temperatures >= 1, "steps", options.temperatures,
                 "at least 1 temperature is needed");
  require_option(
      has_counters(options.temperatures), "steps", options.temperatures,
      "at most {} temperatures are allowed, because random numbers are indexed by temperature",
      kLargestCounter);
  // The estimate has the first chain numbers; the other runs have their own numbers after them.
  runs_end_ = options.first_chain + options.chains;
  const auto add = [&](Part part, int64_t temperatures, int64_t chains) {
    runs_.push_back({part, temperatures, runs_end_, chains});
    runs_end_ += chains;
  };
  if (options.schedule == Schedule::kAdaptive) {
    add(Part::kPilot, std::clamp<int64_t>(options.temperatures / 20, 20, kLargestPilot),
        std::max(options.chains, kPilotChains));
  }
  for (const int64_t temperatures : options.curve) {
    add(Part::kCurve, temperatures, options.chains);
  }
  runs_.push_back({Part::kForward, options.temperatures, options.first_chain, options.chains});
  if (options.reverse) {
    const ReverseStart& from = *options.reverse;
    if (from.states.defined()) {
      reverse_from(from.states, from.rhat, from.round_trips);
      states_sha256_ = sha256({{"states", from.states}});
    } else if (from.longest > 0) {
      add(Part::kEquilibrium, from.longest, options.chains);
      watch_ = ConvergenceMonitor(ranks.shard(options.chains).count, device);
    }
    add(Part::kReverse, options.temperatures, options.chains);
  }
  require_option(has_counters(runs_end_), "chains", options.chains,
                 "all runs together need {} chains, but at most {} are allowed, because random "
                 "numbers are indexed by chain",
                 runs_end_, kLargestCounter);
}

void AnnealedImportanceSampling::reverse_from(const torch::Tensor& states, double rhat,
                                              double round_trips) {
  check_states(target_.space(), states, "the states where reverse annealing starts");
  require(states.size(0) == options_.chains,
          "reverse annealing of {} chains needs one state per chain; there are {} states",
          options_.chains, states.size(0));
  options_.reverse->states = states;
  options_.reverse->rhat = rhat;
  options_.reverse->round_trips = round_trips;
}

int64_t AnnealedImportanceSampling::steps_total() const {
  int64_t total = steps_done_ - k_;
  for (size_t i = run_index_; i < runs_.size(); ++i) {
    const bool over = runs_[i].part == Part::kEquilibrium && converged_;
    total += over && i == run_index_ ? k_ : runs_[i].temperatures;
  }
  return total;
}

torch::Tensor AnnealedImportanceSampling::run_chain_ids() const {
  const Shard own = own_chains();
  const int64_t first = current_run().first_chain + own.first;
  return torch::arange(first, first + own.count,
                       torch::TensorOptions(torch::kInt64).device(device_));
}

torch::Tensor AnnealedImportanceSampling::first_states(const torch::Tensor& ids) const {
  if (resumed_.defined()) return resumed_;
  if (current_run().part == Part::kEquilibrium) {
    return own_chains().of(with_weight(result_.x, result_.log_weights));
  }
  if (current_run().part != Part::kReverse) return path_->sample(ids, key());
  const torch::Tensor& given = options_.reverse->states;
  TORCH_INTERNAL_ASSERT(given.defined() || options_.reverse->longest > 0,
                        "reverse_from() must be called first");
  return given.defined() ? own_chains().of(given).to(device_) : state_.x.clone();
}

int64_t AnnealedImportanceSampling::calls_of_start() const {
  if (sampler_.needs() != Needs::kDifferences) return 1;
  EnergyModel& model = path_->model();
  const HasEnergyDifferences* exact = model.exact_differences();
  return exact ? exact->difference_calls() : 1 + model.space().neighbours();
}

// Starts a run at exact draws from p_0, or at the states that its part prescribes. A resumed run
// starts where it was interrupted.
void AnnealedImportanceSampling::begin_run() {
  const bool equilibrium = current_run().part == Part::kEquilibrium;
  if (equilibrium) {
    betas_ = {1};
  } else {
    const bool pilot = current_run().part == Part::kPilot;
    betas_ = annealing_schedule(pilot ? Schedule::kSigmoid : options_.schedule,
                                current_run().temperatures, pilot_);
    if (pilot) pilot_.beta = betas_;
    if (current_run().part == Part::kReverse) std::reverse(betas_.begin(), betas_.end());
  }
  const bool back = current_run().part == Part::kReverse;
  path_->turn_back(back);
  reversed_ =
      back ? sampler_.reversed(std::max<int64_t>(current_run().temperatures - 2, 0)) : nullptr;
  const Sampler& sampler = run_sampler();
  params_ = sampler.params(key(), device_, k_);
  const torch::Tensor ids = run_chain_ids();
  const std::vector<torch::Tensor> saved = std::move(state_.current.cache);
  const torch::Tensor kept = state_.workspace.cache;
  // At β = 0 no state is forbidden. States that the target forbids have weight 0, which is no
  // error.
  Evaluation none;
  path_->set_beta(0, {}, none);
  fail_together(ranks_, [&] {
    state_ = sampler.init(path_->model(), first_states(ids), ids);
    if (!resumed_.defined()) require_weights(state_.current.untempered());
  });
  if (resumed_.defined()) {
    restore_cache(saved, state_.current.cache);
    if (state_.workspace.cache.defined() && kept.defined()) state_.workspace.cache.copy_(kept);
    state_.statistics.acceptance_sum.copy_(acceptance_sum_);
    resumed_ = acceptance_sum_ = torch::Tensor();
  } else {
    log_weights_ = torch::zeros_like(state_.current.energy);
    result_.energy_evaluations += calls_of_start();
  }
  stepper_.emplace(path_->model(), sampler, state_, params_,
                   options_.cuda_graph && sampler.captures(path_->model()),
                   static_cast<StepHook*>(this), k_);
  path_->set_beta(betas_[equilibrium ? 0 : k_], state_.x, state_.current);
  begun_ = true;
}

int64_t AnnealedImportanceSampling::before_step(int64_t t, const Sampler&, ChainState& state,
                                                StepParams&) {
  if (!current_run().has_weights()) return kForever;
  const torch::Tensor& fall = path_->advance(betas_[t + 1], state.x, state.current);
  if (current_run().part == Part::kPilot) {
    pilot_.variance.push_back(added_variance(ranks_.gather(fall), ranks_.gather(log_weights_)));
  }
  log_weights_.add_(fall);
  return 1;
}

void AnnealedImportanceSampling::step_run() {
  const bool watched = !current_run().has_weights();
  const int64_t most =
      watched ? std::min(watch_.steps_until_check(), current_run().temperatures - k_) : int64_t{1};
  const int64_t made = stepper_->advance(most);
  result_.energy_evaluations += stepper_->take_evaluations();
  k_ += made;
  steps_done_ += made;
  if (watched && std::isnan(rounding_)) rounding_ = energy_rounding(target_, state_.x);
  if (watched && watch_.check(made, state_.current.energy, rounding_, ranks_)) {
    converged_ = watch_.rhat() < kLargestRhat;
  }
}

bool AnnealedImportanceSampling::run_is_over() const {
  return k_ >= current_run().temperatures || (!current_run().has_weights() && converged_);
}

AnnealedChains AnnealedImportanceSampling::annealed_chains() const {
  const double steps = static_cast<double>(k_);
  return {ranks_.gather(state_.x).clone(), ranks_.gather(log_weights_).clone(),
          ranks_.mean(state_.statistics.acceptance_sum).item<double>() / steps};
}

void AnnealedImportanceSampling::finish_run() {
  const Run done = current_run();
  if (done.part != Part::kPilot && done.has_weights()) {
    const WeightSummary summary = summarise_weights(ranks_.gather(log_weights_), key());
    if (!std::isfinite(summary.log_mean)) {
      throw NumericalError(
          "the annealed weights are not finite, because the model has an energy that is not "
          "finite");
    }
    if (done.part == Part::kReverse) {
      finish_reverse(summary);
    } else {
      result_.log_z = path_->log_z_start() + summary.log_mean;
      result_.log_z_se = summary.standard_error;
      result_.weight_ess = summary.ess;
      result_.curve.push_back({done.temperatures, result_.log_z});
    }
    if (done.part == Part::kForward) {
      static_cast<AnnealedChains&>(result_) = annealed_chains();
    }
  }
  ++run_index_;
  k_ = 0;
  begun_ = false;
}

void AnnealedImportanceSampling::finish_reverse(const WeightSummary& summary) {
  ReverseResult& reverse = result_.reverse.emplace();
  static_cast<AnnealedChains&>(reverse) = annealed_chains();
  const double start = path_->log_z_start();
  // Chains in reverse never visit states that the model forbids, so that their weights estimate Z
  // over that part of Z_0 which belongs to allowed states. Its share of the forward chains' exact
  // draws, those with a weight, is `allowed`.
  const auto chains = static_cast<double>(result_.log_weights.numel());
  const double allowed = torch::isfinite(result_.log_weights).sum().item<double>() / chains;
  reverse.log_z_upper = start + std::log(allowed) - summary.log_mean;
  reverse.log_z_upper_se =
      std::hypot(summary.standard_error, std::sqrt((1 - allowed) / (allowed * chains)));
  reverse.weight_ess = summary.ess;
  const LogRatio both = acceptance_ratio(result_.log_weights, reverse.log_weights);
  reverse.log_z_bidirectional = start + both.value;
  reverse.log_z_bidirectional_se = both.standard_error;
  const bool given = options_.reverse->states.defined();
  reverse.rhat = given ? options_.reverse->rhat : watch_.rhat();
  reverse.round_trips = options_.reverse->round_trips;
  reverse.equilibrium_steps = watch_.steps();
}

AisResult AnnealedImportanceSampling::run(const std::function<void()>& on_step,
                                          const std::function<bool()>& stop) {
  torch::NoGradGuard no_grad;
  const FullPrecision full;
  while (run_index_ < runs_.size()) {
    if (!begun_) begin_run();
    while (!run_is_over()) {
      if (stop && stop()) return result_;
      step_run();
      if (on_step) on_step();
    }
    finish_run();
  }
  result_.finished = true;
  return result_;
}

void AnnealedImportanceSampling::step() {
  torch::NoGradGuard no_grad;
  const FullPrecision full;
  if (!begun_) begin_run();
  TORCH_INTERNAL_ASSERT(!run_is_over(), "the present run is finished");
  step_run();
}

}  // namespace isinglass
