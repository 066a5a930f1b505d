// Implements saving and restoring of sampling.h: the checkpoint of a run of sampling.
#include <algorithm>

#include "engine/run/saved_chains.h"
#include "io/error.h"
#include "io/pt/entries.h"
#include "io/settings.h"
#include "lab/run/sampling.h"
#include "lab/spec/field.h"
#include "models/identity.h"

namespace isinglass {
namespace {

constexpr int64_t kSamplingFormat = 1;
constexpr const char* kSamplingCheckpoint = "the checkpoint of sampling";

PtDict saved_adaptation(const Adaptation& adaptation) {
  return {{"rounds", {adaptation.rounds}},
          {"settled", {adaptation.converged}},
          {"complaint", {adaptation.warning}}};
}

Adaptation adaptation_of(const PtDict& saved) {
  const PtEntries entries(saved, kSamplingCheckpoint);
  const auto* complaint = entries.find<std::string>("complaint");
  return {entries.integer("rounds"), entries.flag("settled"), complaint ? *complaint : ""};
}

}  // namespace

PtDict Sampling::identity() const {
  PtDict identity = {{"model", {model_->kind_name()}},
                     {"parameters_sha256", {parameters_sha256(*model_)}},
                     {"sampler", {sampler_->name()}},
                     {"sampler_options", {settings_text(sampler_->settings())}},
                     {"seed", {spec_.seed}},
                     {"chains", {*spec_.chains}},
                     {"burn_in", {plan_.burn_in}},
                     {"steps", {plan_.steps}},
                     {"thin", {plan_.thin}},
                     {"statistic", {spec_.statistic}},
                     {"tempered", {tempering_ != nullptr}}};
  if (spec_.anneal) put(identity, "anneal", text_of(*spec_.anneal));
  if (restriction_) put(identity, "restriction", restriction_sha256_);
  return identity;
}

PtDict Sampling::saved(const RunProgress& progress) const {
  PtDict dict;
  put(dict, "format", kSamplingFormat);
  put(dict, "settings", identity());
  put(dict, "burn_in", progress.burn_in);
  put(dict, "steps", progress.steps);
  put(dict, "sampling", progress.sampling);
  put(dict, "energy_evaluations", progress.energy_evaluations);
  put(dict, "seconds", progress.seconds);
  const auto put_rows = [&](const char* name, const torch::Tensor& own) {
    if (own.defined()) put(dict, name, ranks().gather(own).cpu());
  };
  put_rows("acceptance_before", progress.acceptance_before);
  put_rows("hops_before", progress.hops_before);
  if (progress.adaptation) put(dict, "adaptation", saved_adaptation(*progress.adaptation));
  put(dict, "chains",
      tempering_ ? tempering_->saved(state_, params_, ranks())
                 : saved_chains(*sampler_, state_, params_, ranks()));
  if (mixing_) put(dict, "mixing", mixing_->saved());
  if (best_) put(dict, "best", best_->saved());
  if (range_) {
    put(dict, "annealing_seconds", seconds_so_far());
    put(dict, "accepted_first", range_->at_first());
    put(dict, "accepted_last", range_->at_last());
  }
  return dict;
}

void Sampling::restore(const PtDict& saved) {
  const PtEntries entries(saved, kSamplingCheckpoint);
  require_format(entries.integer("format"), kSamplingFormat, kSamplingCheckpoint,
                 "start a new run");
  require_same_settings(entries.dict("settings"), identity(), kSamplingCheckpoint);
  RunProgress& made = plan_.made;
  made.burn_in = entries.integer("burn_in");
  made.steps = entries.integer("steps");
  made.sampling = entries.flag("sampling");
  require(made.burn_in >= 0 && made.burn_in <= plan_.burn_in && made.steps >= 0 &&
              made.steps <= plan_.steps && (made.sampling || made.steps == 0) &&
              (!made.sampling || made.burn_in == plan_.burn_in),
          "{} is at a step outside this run", kSamplingCheckpoint);
  made.energy_evaluations = entries.integer("energy_evaluations");
  made.seconds = entries.real("seconds");
  const auto rows = [&](const char* name, torch::Tensor& own) {
    const auto* all = entries.find<torch::Tensor>(name);
    if (!all) return;
    require(all->dim() == 1 && all->size(0) == *spec_.chains, "{} belongs to other chains",
            kSamplingCheckpoint);
    own = own_.of(*all).to(context_.device);
  };
  rows("acceptance_before", made.acceptance_before);
  rows("hops_before", made.hops_before);
  if (const auto* adaptation = entries.find<PtDict>("adaptation"))
    made.adaptation = adaptation_of(*adaptation);
  const PtDict& chains = entries.dict("chains");
  if (tempering_) {
    tempering_->restore_saved(state_, params_, chains, ranks());
  } else {
    const torch::Tensor x = own_.of(isinglass::saved_states(chains, *spec_.chains)).contiguous();
    state_ = sampler_->init(target(), x.to(context_.device), chain_ids());
    // Sets the temperature before the cached quantities at that temperature are restored.
    if (cooling_) {
      const int64_t last = std::max<int64_t>(0, made.burn_in + made.steps - 1);
      cooling_->before_step(last, *sampler_, state_, params_);
    }
    restore_chains(*sampler_, state_, params_, chains, own_);
  }
  if (mixing_) mixing_->restore(entries.dict("mixing"));
  if (best_) best_->restore(entries.dict("best"), own_);
  if (range_) {
    seconds_before_ = entries.real("annealing_seconds");
    range_->restore(entries.real("accepted_first"), entries.real("accepted_last"));
  }
}

}  // namespace isinglass
