// Implements parallel tempering; saved_ensembles.cpp implements its checkpoints.
#include "engine/tempering/parallel_tempering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/adaptation/acceptance.h"
#include "engine/samplers/gibbs.h"
#include "engine/tempering/ensembles.h"
#include "engine/tempering/schedule.h"
#include "io/error.h"
#include "io/numbers.h"
#include "kernels/random/counters.h"

namespace isinglass {
namespace {

using torch::Tensor;

constexpr int64_t kFirstRungs = 8;    // initial number of rungs, if it adapts
constexpr int64_t kHistory = 512;     // scans that the history of rungs covers
constexpr int64_t kKeptDraws = 1024;  // largest number of draws per rung for log Z

Tensor reals(const std::vector<double>& values, torch::Device device) {
  return torch::tensor(values, torch::kFloat64).to(device);
}

// Returns scales for every rung of the new schedule: log-linear interpolation in β between the old
// rungs.
Tensor interpolated_scales(const Tensor& scales, const std::vector<double>& from,
                           const std::vector<double>& to) {
  const Tensor logs = scales.to(torch::kCPU).log();
  Tensor result = torch::empty({static_cast<int64_t>(to.size()), scales.size(1)}, logs.options());
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t above = std::upper_bound(from.begin() + 1, from.end() - 1, to[i]) - from.begin();
    const double share = (to[i] - from[above - 1]) / (from[above] - from[above - 1]);
    result[static_cast<int64_t>(i)] = torch::lerp(logs[static_cast<int64_t>(above) - 1],
                                                  logs[static_cast<int64_t>(above)], share);
  }
  return result.exp().to(scales.device());
}

// Returns the tensors with a row per chain: the state and its evaluation.
std::vector<Tensor> chain_rows(const ChainState& chains) {
  const Evaluation& e = chains.current;
  std::vector<Tensor> rows = {chains.x, e.energy};
  if (e.gradient.defined()) rows.push_back(e.gradient);
  if (e.differences.defined()) rows.push_back(e.differences);
  rows.insert(rows.end(), e.cache.begin(), e.cache.end());
  return rows;
}

// Returns true if a step at β = 0, where sites are independent, is an exact draw.
bool draws_all_sites(const Sampler& sampler) {
  return dynamic_cast<const SweepSampler*>(&sampler) != nullptr;
}

// Returns how many of the scans since counting began measured each pair: float64 [pairs].
Tensor measured_scans(const ops::SwapSums& sums, int64_t scans) {
  const MeasuredPairs measured = sums.measured();
  Tensor count = torch::zeros({sums.rejection.size(1)}, torch::kFloat64);
  for (const int64_t parity : {0, 1}) {
    double of_pairs = 0;
    for (int64_t t = sums.first; t < sums.first + scans; ++t)
      of_pairs += measured.measures(parity, t);
    count.slice(0, parity, {}, 2).fill_(of_pairs);
  }
  return count.to(sums.rejection.device());
}

}  // namespace

ParallelTempering::Scratch& ParallelTempering::scratch_of(const ChainState& state) {
  return isinglass::scratch_of<Scratch>(state.workspace);
}

ParallelTempering::ParallelTempering(EnergyModel& target, std::unique_ptr<Sampler> local,
                                     Factorised reference, TemperingOptions options)
    : target_(target),
      local_(std::move(local)),
      reference_(std::move(reference)),
      options_(options) {
  if (options_.rungs) {
    require_option(*options_.rungs >= 2 && *options_.rungs <= options_.most_rungs, "rungs",
                   *options_.rungs, "2 to {} are allowed, including those of beta = 0 and beta = 1",
                   options_.most_rungs);
  }
  require_option(options_.lowest >= 0 && options_.lowest < 1, "lowest-beta", options_.lowest,
                 "it must be at least 0 and below 1");
  require_option(options_.exploration >= 1, "exploration", options_.exploration,
                 "at least 1 local step per scan is needed");
  require_options(!local_->is_interacting(),
                  "`rungs` needs chains that move independently; {} pulls the chains of a group "
                  "towards each other",
                  local_->name());
  require_options(!local_->warmup() || local_->adapts(),
                  "`rungs` needs a sampler that adapts by its acceptance or does not adapt; {} "
                  "would learn the same tensors for all rungs{}",
                  local_->name(),
                  local_->scales().size() > 1 ? "; with `sigma` and `alpha` given, ab-1st and "
                                                "ab-variance learn nothing"
                                              : "");
  set_identity(local_->name(), local_->settings());
}

void ParallelTempering::prepare(const EnergyModel&, ChainState& state) const {
  state.workspace.y = torch::Tensor();
  state.workspace.proposed = {};
  state.current.cache.clear();
  const std::vector<double> betas =
      equidistant_schedule(options_.rungs.value_or(kFirstRungs), options_.lowest);
  const auto rungs = static_cast<int64_t>(betas.size());
  std::vector<double> initial;
  for (const Scale& scale : local_->scales()) initial.push_back(scale.initial);
  const Tensor scales = reals(initial, state.x.device()).repeat({rungs, 1});
  build(state, state.x.repeat_interleave(rungs, 0), betas, scales, 0);
}

// Makes ensembles from x [C·R, D], the states of rung 0, 1, … of each ensemble.
void ParallelTempering::build(ChainState& state, const Tensor& x, const std::vector<double>& betas,
                              const Tensor& scales, int64_t step) const {
  const torch::Device device = state.x.device();
  const int64_t c = state.chains(), r = static_cast<int64_t>(betas.size()), b = c * r;
  const int64_t chains = c > 0 ? state.chain_ids.max().item<int64_t>() + 1 : 0;
  require_option(
      has_counters(chains, r), "chains", chains,
      "with {} rungs each, they exceed the {} chains by which random numbers are indexed", r,
      kLargestCounter);
  auto scratch = std::make_shared<Scratch>();
  Scratch& s = *scratch;
  s.path = make_ladder_path(options_.path, target_, reference_, device, b);
  const auto whole = torch::TensorOptions(torch::kInt64).device(device);
  const auto real = whole.dtype(torch::kFloat64);
  const Tensor in_ensemble = torch::arange(r, whole);
  s.at.chain = torch::arange(b, whole).view({c, r});
  s.at.scale = torch::zeros({b, scales.size(1)}, real);
  s.path->prepare(s.at);
  s.rungs = {reals(betas, device), scales.contiguous()};
  s.chains = local_->init(s.model(), x, (state.chain_ids.view({c, 1}) * r + in_ensemble).view(-1));
  s.fresh = local_->init(s.path->reference(), state.x, state.chain_ids);
  s.sums = {torch::zeros({c, r - 1}, real),
            torch::zeros({c, r}, real),
            torch::zeros({b}, whole),
            torch::zeros({c}, whole),
            torch::zeros({kHistory, r}, whole.dtype(torch::kInt16)),
            torch::zeros({0, c, r - 1, 2}, real)};
  s.burn_in_steps.emplace(*local_,
                          options_.cuda_graph && device.is_cuda() && local_->captures(s.model()));
  state.workspace.scratch = scratch;
  begin_counting(state, step);
  place(s);
}

// Gives every chain the β and the scales of its rung.
void ParallelTempering::place(Scratch& s) const {
  s.path->place(s.rungs, s.at, s.chains);
  s.at.scale.index_copy_(0, s.in_order(), s.rungs.scale.repeat({s.ensembles(), 1}));
}

void ParallelTempering::begin_counting(ChainState& state, int64_t step) const {
  Scratch& s = scratch_of(state);
  for (Tensor* sum : {&s.sums.rejection, &s.sums.acceptance, &s.sums.trips}) sum->zero_();
  s.sums.first = step;
  s.sums.all = s.path->measures_all();
  s.sums.every = std::max<int64_t>(1, (options_.scans + kKeptDraws - 1) / kKeptDraws);
  const int64_t draws = options_.scans / s.sums.every;
  if (s.sums.delta_u.size(0) != draws) {
    s.sums.delta_u =
        torch::zeros({draws, s.ensembles(), s.size() - 1, 2}, s.sums.rejection.options());
  }
}

StepInfo ParallelTempering::step(EnergyModel& model, ChainState& state, StepParams& params) const {
  require_target(model);
  Scratch& s = scratch_of(state);
  s.begin(params, options_.exploration);
  return finish_scan(state, params,
                     local_->steps(s.model(), s.chains, s.params, options_.exploration));
}

void ParallelTempering::require_target(const EnergyModel& model) const {
  TORCH_CHECK(&model == &target_,
              "parallel tempering must step on the target for which it was made");
}

StepInfo ParallelTempering::finish_scan(ChainState& state, StepParams& params,
                                        StepInfo info) const {
  Scratch& s = scratch_of(state);
  info.evaluations *= s.size();
  // On a GPU only the kernel knows the number of the step, so that the draws are made in every
  // scan.
  const bool drawn = reference_.independent() && draws_all_sites(*local_);
  const bool draws = options_.lowest == 0 && reference_.has_draws() && !drawn;
  if (draws && (!state.x.is_cpu() || params.step() % 2 == 0)) {
    reference_.draw(params.rng, state.chain_ids, s.fresh.x);
    local_->reevaluate(s.path->reference(), s.fresh);
    ops::replace_reference(s.at.chain, params.rng, chain_rows(s.chains), chain_rows(s.fresh));
    if (const CachesWeights* weights = local_->caches_weights()) {
      weights->states_replaced(s.chains, s.at.chain.select(1, 0));
    }
    const HasEnergyDifferences* differences = s.path->reference().exact_differences();
    info.evaluations +=
        local_->needs() == Needs::kDifferences ? differences->difference_calls() : 1;
  }
  s.at.energy = s.chains.current.energy;
  s.path->before_swaps(s.rungs, s.sums, params.rng, s.at, s.chains);
  ops::TopTensors top{s.chains.x, state.x, state.current.energy, options_.exploration};
  ops::swap_rungs(s.rungs, s.at, s.sums, top, s.chains.statistics, state.statistics, params.rng,
                  state.chain_ids);
  if (!local_->caches_weights()) s.path->after_swaps(s.chains);
  params.advance();
  return info;
}

StepInfo ParallelTempering::burn_in_step(EnergyModel& model, ChainState& state, StepParams& params,
                                         int64_t t, int64_t total, const Ranks& ranks) const {
  require_target(model);
  StepInfo info;
  scratch_of(state).sums.all = true;  // rounds are short, so all pairs are measured
  if (local_->adapts()) {
    Scratch& s = scratch_of(state);
    s.begin(params, options_.exploration);
    for (int64_t k = 0; k < options_.exploration; ++k) {
      info.evaluations += s.burn_in_steps->step(s.model(), s.chains, s.params).evaluations;
      adapt_scales(s, t * options_.exploration + k, ranks);
    }
    info = finish_scan(state, params, info);
  } else {
    info = step(model, state, params);
  }
  Scratch& s = scratch_of(state);
  if (++s.round == int64_t{1} << s.rounds && 4 * (t + 1) <= 3 * total) {
    end_round(state, params.step(), !options_.rungs && 2 * (t + 1) <= total, ranks);
  }
  if (t + 1 == total) begin_counting(state, params.step());
  return info;
}

void ParallelTempering::adapt_scales(Scratch& s, int64_t step, const Ranks& ranks) const {
  const Tensor of_rungs =
      s.chains.statistics.acceptance.index_select(0, s.in_order()).view_as(s.at.chain);
  const Tensor scale = s.rungs.scale.select(1, 0);
  adapt_scale(scale, local_->scales().front(), ranks.mean(of_rungs), step,
              local_->target_acceptance());
  // At β = 0 nearly every proposal is accepted. The scale would grow to its maximum, where steps
  // cost most, on the one rung that has exact draws and needs no steps.
  if (options_.lowest == 0) scale[0].copy_(scale[-1]);
  s.at.scale.index_copy_(0, s.in_order(), s.rungs.scale.repeat({s.ensembles(), 1}));
}

// Ends a round of adaptation: computes a new schedule from the round's rejection rates and, if
// allowed, a new number of rungs. Each new rung starts at the state of the nearest old one.
void ParallelTempering::end_round(ChainState& state, int64_t step, bool may_change_rungs,
                                  const Ranks& ranks) const {
  Scratch& s = scratch_of(state);
  const std::vector<double> rejection =
      numbers(ranks.mean(s.sums.rejection) / static_cast<double>(s.round));
  const std::vector<double> old = numbers(s.rungs.beta);
  int64_t size = s.size();
  if (may_change_rungs) size = std::min(rungs_for(barrier(rejection)), options_.most_rungs);
  const std::vector<double> betas = equal_barrier_schedule(old, rejection, size);
  const Tensor scales = interpolated_scales(s.rungs.scale, old, betas);
  const int64_t rounds = s.rounds + 1;
  if (size == s.size()) {
    s.rungs.beta.copy_(reals(betas, state.x.device()));
    s.rungs.scale.copy_(scales);
    begin_counting(state, step);
    place(s);
  } else {
    std::vector<int64_t> nearest;
    for (const double beta : betas) {
      const auto above = std::lower_bound(old.begin(), old.end(), beta);
      const bool lower =
          above != old.begin() && (above == old.end() || beta - above[-1] < *above - beta);
      nearest.push_back(above - old.begin() - (lower ? 1 : 0));
    }
    const Tensor chains = s.at.chain.index_select(1, torch::tensor(nearest).to(state.x.device()));
    const Tensor x = s.chains.x.index_select(0, chains.view(-1));
    build(state, x, betas, scales, step);
  }
  scratch_of(state).rounds = rounds;
  scratch_of(state).round = 0;
}

Adaptation ParallelTempering::adaptation(const ChainState& state, const StepParams&,
                                         const BurnIn& burn_in) const {
  const Scratch& s = scratch_of(state);
  Adaptation result{.rounds = s.rounds, .converged = s.rounds >= 4};
  if (burn_in.steps == 0) {
    result.warning = "`rungs` adapts its schedule in burn-in, and there was no burn-in";
  } else if (!result.converged) {
    result.warning = fmt::format(
        "the schedule of `rungs` adapts in rounds of 1, 2, 4, … scans of burn-in, but burn-in had "
        "only {} rounds",
        s.rounds);
  }
  return result;
}

NamedTensors ParallelTempering::learned(const ChainState& state) const {
  const Scratch& s = scratch_of(state);
  return {{"betas", s.rungs.beta.clone()}, {"scales", s.rungs.scale.clone()}};
}

void ParallelTempering::restore(ChainState& state, const NamedTensors& learned) const {
  if (learned.empty()) return;
  Tensor betas, scales;
  for (const auto& [name, tensor] : learned) {
    require(name == "betas" || name == "scales", "'{}' is not a tensor that a tempered run learns",
            name);
    (name == "betas" ? betas : scales) = tensor.to(torch::kFloat64);
  }
  const auto numbers_a_rung = static_cast<int64_t>(local_->scales().size());
  require(betas.defined() && scales.defined() && betas.dim() == 1 && betas.size(0) >= 2 &&
              scales.dim() == 2 && scales.size(0) == betas.size(0) &&
              scales.size(1) == numbers_a_rung,
          "a tempered run learns betas [R] and scales [R, {}]", numbers_a_rung);
  const std::vector<double> schedule = numbers(betas);
  require(schedule.front() == options_.lowest && schedule.back() == 1 &&
              std::is_sorted(schedule.begin(), schedule.end(), std::less_equal<>()),
          "the betas of a tempered run must rise from {:g} to 1", options_.lowest);
  require(!options_.rungs || *options_.rungs == betas.size(0),
          "`rungs` is {}, but the learned tensors are for {} rungs", options_.rungs.value_or(0),
          betas.size(0));
  build(state, state.x.repeat_interleave(betas.size(0), 0), schedule, scales.to(state.x.device()),
        0);
}

TemperingReport ParallelTempering::report(const ChainState& state, const StepParams& params,
                                          const Ranks& ranks) const {
  const Scratch& s = scratch_of(state);
  TemperingReport result;
  result.scans = params.step() - s.sums.first;
  result.betas = numbers(s.rungs.beta);
  const Tensor scales = s.rungs.scale.cpu();
  for (int64_t i = 0; i < s.size(); ++i) result.scales.push_back(numbers(scales[i]));
  const double scans = static_cast<double>(result.scans);
  result.rejection = numbers(ranks.mean(s.sums.rejection) / measured_scans(s.sums, result.scans));
  result.acceptance = numbers(ranks.mean(s.sums.acceptance) / scans);
  result.barrier = barrier(result.rejection);
  const Tensor trips = ranks.gather(s.sums.trips).to(torch::kCPU, torch::kFloat64);
  result.round_trips = trips.mean().item<double>();
  result.round_trip_rate = result.round_trips / scans;
  result.round_trip_se = trips.numel() > 1
                             ? (trips.std() / std::sqrt(trips.numel())).item<double>() / scans
                             : std::nan("");
  result.predicted_rate = predicted_round_trip_rate(result.rejection);
  result.best_rate = best_round_trip_rate(result.barrier);
  // The rows of the buffer are indexed by the step number modulo its length.
  const int64_t kept = std::min(result.scans, kHistory), last = params.step();
  result.history =
      torch::roll(s.sums.history, -(last % kHistory), 0).slice(0, kHistory - kept, kHistory).cpu();
  result.log_z = {NAN, NAN};
  if (options_.lowest > 0) return result;
  const int64_t draws =
      std::min(s.sums.delta_u.size(0), (result.scans + s.sums.every - 1) / s.sums.every);
  const Tensor delta_u =
      ranks.gather(s.sums.delta_u.slice(0, 0, draws).transpose(0, 1).contiguous());
  result.log_z = log_z_of_rungs(delta_u.transpose(0, 1).cpu(), s.path->log_z_start());
  return result;
}

Tensor ParallelTempering::rung_states(const ChainState& state) const {
  const Scratch& s = scratch_of(state);
  return s.chains.x.index_select(0, s.in_order()).view({s.ensembles(), s.size(), -1});
}

void ParallelTempering::set_rung_states(ChainState& state, const Tensor& x) const {
  Scratch& s = scratch_of(state);
  s.chains.x.index_copy_(0, s.in_order(), x.reshape({s.chains.chains(), -1}));
  local_->reevaluate(s.model(), s.chains);
  state.x.copy_(x.select(1, s.size() - 1));
  state.current.energy.copy_(
      s.chains.current.energy.index_select(0, s.at.chain.select(1, s.size() - 1)));
}

}  // namespace isinglass
