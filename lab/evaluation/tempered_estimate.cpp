// Implements the estimate of log Z by parallel tempering.
#include "lab/evaluation/tempered_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/diagnostics/energy_rounding.h"
#include "engine/diagnostics/rank_normalised.h"
#include "engine/run/initial_states.h"
#include "engine/run/stepper.h"
#include "io/error.h"
#include "io/pt/entries.h"
#include "io/settings.h"
#include "lab/run/assemble.h"
#include "lab/run/tempering.h"
#include "models/full_precision.h"
#include "models/identity.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kTemperingFormat = 1;
// At most this many energies of an ensemble enter R̂.
constexpr int64_t kLargestSeries = 4096;
constexpr const char* kTemperingCheckpoint = "the tempering checkpoint";

torch::Tensor ids_from(int64_t first, int64_t count, torch::Device device) {
  return torch::arange(first, first + count, torch::TensorOptions(torch::kInt64).device(device));
}

// Returns the states where ensembles begin: draws of the start, and uniform noise for every second
// ensemble. R̂ between ensembles detects separate modes only if the ensembles begin farther apart
// than the target is wide (Gelman & Rubin, "Inference from iterative simulation using multiple
// sequences", 1992), and draws near the data only reach modes near the data.
torch::Tensor beginnings(const Factorised& start, const torch::Tensor& ids, uint64_t key) {
  const torch::Tensor x = start.sample(ids, key);
  const StateSpace space = start.model().space();
  if (start.uniform() || start.limited() || space.kind == StateKind::kContinuous) return x;
  const torch::Tensor second = ids.remainder(2).eq(1).unsqueeze(1);
  return torch::where(second, random_states(space, ids, key, x.device()), x);
}

}  // namespace

TemperedEstimate::TemperedEstimate(const EvaluateSpec& spec, EnergyModel& model,
                                   const ParallelTempering& tempering, const Factorised& start,
                                   int64_t scans, int64_t first_chain, const Context& context,
                                   int64_t states)
    : model_(model),
      tempering_(tempering),
      ranks_(*context.ranks),
      own_(ranks_.shard(spec.chains)),
      ensembles_(spec.chains),
      burn_in_(tempered_burn_in(scans)),
      scans_(scans),
      exploration_(spec.exploration.value_or(1)),
      first_chain_(first_chain),
      every_((scans + kLargestSeries - 1) / kLargestSeries),
      seed_(spec.seed),
      cuda_graph_(captures_steps(spec.cuda_graph, model, tempering, context.device)),
      path_(spec.path),
      start_sha256_(start.sha256()),
      params_(tempering.params(
          stream_key(static_cast<uint64_t>(spec.seed), RandomStream::kTempering), context.device)),
      state_([&] {
        const torch::NoGradGuard no_grad;
        const FullPrecision full;
        const torch::Tensor ids = ids_from(first_chain + own_.first, own_.count, context.device);
        const uint64_t key = stream_key(static_cast<uint64_t>(spec.seed), RandomStream::kTempering);
        return tempering.init(model, beginnings(start, ids, key), ids);
      }()),
      energies_(torch::zeros({scans / every_, own_.count},
                             torch::TensorOptions(torch::kFloat64).device(context.device))) {
  require(states <= scans, "{} scans do not give {} states", scans, states);
  if (states > 0)
    states_ = torch::zeros({states, own_.count, state_.x.size(1)}, state_.x.options());
}

bool TemperedEstimate::run(const std::function<void()>& on_step,
                           const std::function<bool()>& stop) {
  const torch::NoGradGuard no_grad;
  const FullPrecision full;
  Stepper stepper(model_, tempering_, state_, params_, cuda_graph_, nullptr, done_);
  while (done_ < burn_in_ + scans_) {
    if (stop && stop()) return false;
    if (done_ < burn_in_) {
      stepper.advance_burn_in(1, burn_in_, ranks_);
    } else {
      stepper.advance(1);
    }
    evaluations_ += stepper.take_evaluations();
    ++done_;  // It is counted before on_step, which may save the progress.
    if (done_ == burn_in_) state_.statistics.reset();
    const int64_t kept = done_ - burn_in_;
    if (kept > 0 && kept % every_ == 0) energies_[kept / every_ - 1].copy_(state_.current.energy);
    if (kept > 0 && states_.defined()) {
      const int64_t apart = scans_ / states_.size(0), row = kept / apart - 1;
      if (kept % apart == 0 && row < states_.size(0)) states_[row].copy_(state_.x);
    }
    if (on_step) on_step();
  }
  report_ = tempering_.report(state_, params_, ranks_);
  if (!std::isfinite(report_.log_z.value)) {
    throw NumericalError(
        "log Z of the rungs is not finite, because the model has an energy that is not finite, or "
        "because no draw on a rung is allowed on the next one");
  }
  rhat_ = agreement_rhat(all_energies(), energy_rounding(model_, state_.x));
  x_ = ranks_.gather(state_.x).to(torch::kCPU);
  return true;
}

torch::Tensor TemperedEstimate::all_energies() const {
  return ranks_.gather(energies_.t().contiguous()).t().contiguous().to(torch::kCPU);
}

torch::Tensor TemperedEstimate::states() const {
  const torch::Tensor all = ranks_.gather(states_.transpose(0, 1).contiguous());
  return all.transpose(0, 1).contiguous().to(torch::kCPU);
}

PtDict TemperedEstimate::settings() const {
  return {{"chains", {ensembles_}},
          {"scans", {scans_}},
          {"exploration", {exploration_}},
          {"path", {path_}},
          {"seed", {seed_}},
          {"first_chain", {first_chain_}},
          {"model", {model_.kind_name()}},
          {"parameters_sha256", {parameters_sha256(model_)}},
          {"start_sha256", {start_sha256_}},
          {"sampler", {tempering_.name()}},
          {"sampler_options", {settings_text(tempering_.settings())}}};
}

PtDict TemperedEstimate::checkpoint() const {
  PtDict dict;
  put(dict, "format", kTemperingFormat);
  put(dict, "settings", settings());
  if (!own_functions(model_).empty()) {
    put(dict, "functions", function_identity(model_, params_.rng.device()));
  }
  put(dict, "done", done_);
  put(dict, "evaluations", evaluations_);
  put(dict, "energies", all_energies().clone());
  if (states_.defined()) put(dict, "states", states());
  put(dict, "ensembles", tempering_.saved(state_, params_, ranks_));
  return dict;
}

void TemperedEstimate::restore(const PtDict& checkpoint) {
  const PtEntries entries(checkpoint, kTemperingCheckpoint);
  require_format(entries.integer("format"), kTemperingFormat, kTemperingCheckpoint,
                 "start a new evaluation");
  require_same_settings(entries.dict("settings"), settings(), kTemperingCheckpoint);
  require_same_functions(entries.find<PtDict>("functions"), model_, params_.rng.device(),
                         kTemperingCheckpoint);
  done_ = entries.integer("done");
  require(done_ >= 0 && done_ <= steps_total(), "{} is at a scan outside this run",
          kTemperingCheckpoint);
  evaluations_ = entries.integer("evaluations");
  const torch::Tensor& energies = entries.tensor("energies");
  require(energies.dim() == 2 && energies.size(0) == energies_.size(0) &&
              energies.size(1) == ensembles_,
          "{} holds the energies of other ensembles", kTemperingCheckpoint);
  energies_.copy_(energies.narrow(1, own_.first, own_.count));
  if (states_.defined()) {
    const torch::Tensor& states = entries.tensor("states");
    require(states.dim() == 3 && states.size(0) == states_.size(0) &&
                states.size(1) == ensembles_ && states.size(2) == states_.size(2),
            "{} holds the states of other ensembles", kTemperingCheckpoint);
    states_.copy_(states.narrow(1, own_.first, own_.count));
  }
  tempering_.restore_saved(state_, params_, entries.dict("ensembles"), ranks_);
}

double TemperedEstimate::round_trips() const {
  return std::round(report_.round_trips * static_cast<double>(ensembles_));
}

LogZBounds TemperedEstimate::log_z() const {
  const LogZ& log_z = report_.log_z;
  return {log_z.lower, log_z.upper, log_z.value, log_z.lower_se, log_z.upper_se};
}

BracketVerdict TemperedEstimate::verdict(double largest_bracket) const {
  const LogZ& log_z = report_.log_z;
  return verdict_on(
      TemperedLogZDiagnostics{log_z.lower, log_z.upper, log_z.standard_error, round_trips(), rhat_},
      largest_bracket);
}

std::string TemperedEstimate::text(double start_error) const {
  const LogZ& log_z = report_.log_z;
  const auto estimate = [&](double value, double error) {
    return estimate_text(value, std::hypot(error, start_error));
  };
  return fmt::format(
      "log Z {}; {} rungs, {:g} round trips of {} ensembles, R-hat {:.3f}\n"
      "  up the ladder {}, down the ladder {}\n",
      estimate(log_z.value, log_z.standard_error), report_.betas.size(), round_trips(), ensembles_,
      rhat_, estimate(log_z.lower, log_z.lower_se), estimate(log_z.upper, log_z.upper_se));
}

Json TemperedEstimate::json(double start_error) const {
  const LogZ& log_z = report_.log_z;
  return {{"path", path_},
          {"burn_in", burn_in_},
          {"log_z", log_z.lower},
          {"log_z_se", std::hypot(log_z.lower_se, start_error)},
          {"log_z_upper", log_z.upper},
          {"log_z_upper_se", std::hypot(log_z.upper_se, start_error)},
          {"log_z_bidirectional", log_z.value},
          {"log_z_bidirectional_se", std::hypot(log_z.standard_error, start_error)},
          {"rhat", rhat_},
          {"tempering", tempering_json(report_, exploration_)}};
}

}  // namespace isinglass
