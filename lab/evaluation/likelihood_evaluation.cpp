// Implements the rounds of an evaluation, its checkpoint and its JSON.
#include "lab/evaluation/likelihood_evaluation.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cmath>

#include "engine/registry.h"
#include "engine/stop_consensus.h"
#include "engine/tempering/bennett.h"
#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "io/pt/entries.h"
#include "io/pt/pt_file.h"
#include "io/settings.h"
#include "kernels/random/counters.h"
#include "kernels/random/streams.h"
#include "lab/evaluation/annealed_estimate.h"
#include "lab/evaluation/reverse_start.h"
#include "lab/evaluation/tempered_estimate.h"
#include "lab/identity.h"
#include "lab/run/annealing_path.h"
#include "lab/run/memory.h"
#include "lab/run/restricted.h"
#include "lab/run/summary.h"
#include "lab/run/tempering.h"
#include "lab/run/trained_model.h"
#include "lab/spec/field.h"
#include "models/energies.h"
#include "models/identity.h"
#include "models/states.h"

namespace isinglass {

using Json = nlohmann::ordered_json;

namespace {
namespace fs = std::filesystem;

constexpr const char* kNoData = "none";
constexpr double kLeastBaseEss = 100;  // of weights of base draws alone, to report log Z by them
constexpr const char* kTemperingMethod = "tempering";
constexpr auto kCheckpointInterval = std::chrono::minutes(1);

// Turns reverse annealing on unless the spec omits it. Throws Error if it omits it although it
// gives an option that needs it.
EvaluateSpec with_reverse(EvaluateSpec spec) {
  const bool tempers = spec.method == kTemperingMethod;
  if (spec.reverse == false) {
    require_options(
        spec.reverse_from.empty(),
        "`reverse-from` says where annealing in reverse starts, but `reverse` is false");
    require_options(tempers || spec.until_closed == 0,
                    "`until-closed` needs estimates of log Z from both ends, but `reverse` is "
                    "false");
  }
  spec.reverse = spec.reverse.value_or(!tempers || !spec.reverse_from.empty());
  return spec;
}

// Throws Error for options that do not go with the method.
void check_method(const EvaluateSpec& spec) {
  if (spec.method != kTemperingMethod) {
    require_options(
        (spec.rungs.empty() && !spec.exploration) || spec.reverse_from == kTemperedStart,
        "`rungs` and `exploration` apply to `method` "
        "tempering and to `reverse-from` tempering only");
  } else {
    require_options(!*spec.reverse,
                    "`reverse` applies to annealing only; `method` tempering estimates log Z from "
                    "both ends without it");
    require_options(
        spec.schedule.empty(),
        "`schedule` applies to annealing only; `method` tempering adapts its own rungs");
    require_options(spec.until_closed == 0 || spec.chains >= kLeastEnsembles,
                    "`until-closed` needs `chains` {} or more: with {} ensembles log Z has no "
                    "standard error, so that no verdict can close",
                    kLeastEnsembles, spec.chains);
  }
}

Json by_split(const std::vector<SplitLikelihood>& splits,
              const std::function<Json(const SplitLikelihood&)>& value) {
  Json json = Json::object();
  for (const SplitLikelihood& split : splits) json[split.split] = value(split);
  return json;
}

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json pair_of(const std::optional<ErrorInterval>& interval) {
  return interval ? Json::array({interval->low, interval->high}) : Json();
}

}  // namespace

const std::vector<std::string>& method_names() {
  static const std::vector<std::string> names = {"ais", kTemperingMethod};
  return names;
}

void take_image_size(EvaluateSpec& spec, Dataset* data) {
  spec.model = as_trained(spec.model);
  if (data && !spec.model.image) spec.model.image = ImageSize{data->height, data->width};
  if (data && spec.model.image->height * spec.model.image->width == data->train.size(1)) {
    set_image_size(*data, spec.model.image->height, spec.model.image->width);
  }
  spec.model = resolved(spec.model);
}

std::shared_ptr<EnergyModel> evaluated_model(const EvaluateSpec& spec, torch::Device device) {
  return spec.model.instance.empty()
             ? at_temperature_of(
                   spec.model, model_of(spec.model, device, moves_continuous(spec.sampler)), device)
             : sampled_model(spec.model, spec.sampler, {}, device);
}

LikelihoodEvaluation::LikelihoodEvaluation(EvaluateSpec spec, Context context, Given given)
    : spec_(with_reverse(std::move(spec))),
      context_(std::move(context)),
      data_hash_(kNoData),
      revisions_{program_revision()} {
  const torch::Device device = context_.device;
  check_method(spec_);
  if (!spec_.sampler.name.empty()) find_sampler(spec_.sampler.name);
  spec_.data = resolved(spec_.data);
  data_ = std::move(given.data);
  inexact_ = given.inexact;
  if (!data_ && !spec_.data.name.empty()) {
    const bool points = given.model ? !given.model->space().discrete()
                                    : has_continuous_states(as_trained(spec_.model), spec_.sampler);
    data_ = points ? points_of(spec_.data, /*every_split=*/true) : images_of(spec_.data);
  }
  take_image_size(spec_, data_ ? &*data_ : nullptr);
  model_ = given.model ? given.model : evaluated_model(spec_, device);
  if (spec_.model.name.empty()) spec_.model.name = model_->kind_name();
  whole_ = model_;
  restrict_states(given);
  set_gradient_precision(spec_.model, *model_, device);
  resolve_path(spec_, *model_);
  if (tempers()) {
    if (spec_.rungs.empty()) spec_.rungs = "auto";
    spec_.exploration = spec_.exploration.value_or(1);
  } else {
    if (spec_.schedule.empty()) spec_.schedule = "adaptive";
    sampler_ =
        fixed_sampler_of(spec_.sampler, *model_,
                         "annealing has no burn-in, because its target changes with every step");
  }
  spec_.sampler = resolved(spec_.sampler, *model_);
  if (reverses()) spec_.reverse_from = resolved_reverse_start(spec_.reverse_from, *model_);
  if (spec_.reverse_from == kAnyStart) reverse_from_ = kChainsStart;
  // The factor 2 counts the buffers of the target and of the annealed model.
  require_memory(2 * sampling_bytes(*model_, ranks().shard(spec_.chains).count), device,
                 fmt::format("`chains` {}", spec_.chains));
  if (data_) check_data();
  start_ = given.mean.defined()
               ? Factorised::independent(given.mean.to(device))
               : annealing_start(*model_, data_ ? &*data_ : nullptr, device, spec_.start_scale);
  if (const auto limit = restriction_ ? restriction_->distance_limit() : std::nullopt) {
    start_ = start_->within(*limit);
  }
  require(std::isfinite(start_->log_z()),
          "log Z of the base of {} is not known, and that of the model is an estimate of their "
          "difference; the residual model has to be made with log Z of its base",
          model_->title());
  if (!model_->space().discrete() && !bounds_of(*model_)) {
    spec_.start_scale = spec_.start_scale.value_or(1);
  }
  begin_round();
}

// Replaces the model by that of the restricted states.
void LikelihoodEvaluation::restrict_states(const Given& given) {
  const RestrictionOptions options = restriction_options(spec_.restriction, given);
  if (!options.given()) return;
  require_options(
      !data_,
      "`fixed`, `allowed` and `within` go with log Z alone, without `dataset`; `inpaint` "
      "says how likely some pixels of images are given the others");
  require_options(!given.mean.defined(),
                  "the mean where annealing begins cannot be given with `fixed`, `allowed` or "
                  "`within`");
  require_options(!starts_from_file(spec_.reverse_from),
                  "`reverse-from` cannot be a file with `fixed`, `allowed` or `within`");
  restriction_.emplace(whole_->space(), options, context_.device);
  require_options(restriction_->rows() == 1,
                  "log Z is that of one restriction, but there are {} rows of {}; a single one is "
                  "needed",
                  restriction_->rows(),
                  options.fixed.defined() && options.fixed.dim() > 1 ? options.fixed_name
                                                                     : options.reference_name);
  model_ = restricted(whole_, *restriction_, context_.device);
}

PtDict LikelihoodEvaluation::chains() const {
  PtDict chains = estimate_->chains();
  if (!restriction_) return chains;
  for (auto& [name, value] : chains) {
    if (!name.starts_with("x")) continue;
    const torch::Tensor x = std::get<torch::Tensor>(value.value);
    value = {restriction_->complete(x.to(context_.device)).to(x.device())};
  }
  return chains;
}

bool LikelihoodEvaluation::tempers() const {
  return spec_.method == kTemperingMethod;
}

void LikelihoodEvaluation::begin_round() {
  estimate_.reset();
  if (tempers()) {
    auto tempering = tempering_of(spec_, steps(), *model_, *start_, context_);
    require_options(tempering->exact(),
                    "log Z needs steps that leave the distribution invariant, but {} is not exact",
                    tempering->name());
    estimate_ = std::make_unique<TemperedEstimate>(spec_, *model_, *tempering, *start_, steps(),
                                                   first_chain_, context_);
    sampler_ = std::move(tempering);
  } else {
    estimate_ = annealing();
  }
  round_started_ = seconds();
}

std::unique_ptr<LogZEstimate> LikelihoodEvaluation::annealing() const {
  EvaluateSpec spec = spec_;
  if (!reverse_from_.empty()) spec.reverse_from = reverse_from_;
  return std::make_unique<AnnealedEstimate>(spec, *model_, *sampler_, *start_, steps(),
                                            first_chain_, /*curve=*/round_ == 0, context_);
}

// Starts a round with new chains and twice the steps. If the long chains that started the reverse
// annealing have not mixed, a tempering ladder replaces them in the new round, provided that one
// fits the model and the ranks; the round before then served as a pilot.
void LikelihoodEvaluation::next_round() {
  earlier_steps_ = steps_done();
  first_chain_ += estimate_->chain_numbers();
  ++round_;
  const std::optional<double> rhat = estimate_->reverse_start_rhat();
  if (reverse_from_ == kChainsStart && !(*rhat < kLargestRhat)) {
    reverse_from_ = kTemperedStart;
    try {
      return begin_round();
    } catch (const OptionError&) {
      reverse_from_ = kChainsStart;
    }
  }
  begin_round();
}

void LikelihoodEvaluation::check_data() {
  const StateSpace own = data_->space();
  const StateSpace needed = model_->space();
  require(needed == own, "{} has {} per {}, but model {} has {}", data_->name, sites_text(own),
          own.discrete() ? "image" : "point", spec_.model.name, sites_text(needed));
  data_hash_ = data_sha256(*data_);
}

PtDict LikelihoodEvaluation::data_settings() const {
  return {{"data_sha256", {data_hash_}}};
}

void LikelihoodEvaluation::restore(const fs::path& checkpoint) {
  const PtValue saved = read_pt(checkpoint);
  const auto* dict = std::get_if<PtDict>(&saved.value);
  require(dict, "{} is not an annealing checkpoint", checkpoint.string());
  const PtEntries entries(*dict, checkpoint.string());
  const auto* data = entries.find<PtDict>("data");
  if (data) require_same_settings(*data, data_settings(), checkpoint.string());
  if (const auto* rounds = entries.find<PtDict>("rounds")) {
    const PtEntries earlier(*rounds, checkpoint.string());
    round_ = earlier.integer("round");
    require(
        may_double(round_),
        "{} is at round {}, but a run that starts with {} temperatures cannot have so many rounds",
        checkpoint.string(), round_, spec_.temperatures);
    first_chain_ = earlier.integer("first_chain");
    earlier_steps_ = earlier.integer("earlier_steps");
    if (const auto* from = earlier.find<std::string>("reverse_from")) reverse_from_ = *from;
    const torch::Tensor curve = earlier.tensor("curve").to(torch::kFloat64).contiguous();
    require(curve.dim() == 2 && curve.size(1) == 2, "the curve in {} is damaged",
            checkpoint.string());
    for (int64_t i = 0; i < curve.size(0); ++i) {
      curve_.push_back(
          {static_cast<int64_t>(curve[i][0].item<double>()), curve[i][1].item<double>()});
    }
    begin_round();
  }
  estimate_->restore(*dict);
  require(data, "{} does not identify its data", checkpoint.string());
  if (const auto* seconds = entries.find<double>("seconds")) earlier_ = *seconds;
  if (const auto* begun = entries.find<double>("round_started")) round_started_ = *begun;
  const auto* revisions = entries.find<PtList>("revisions");
  if (!revisions) return;
  for (const PtValue& revision : *revisions) {
    const auto* text = std::get_if<std::string>(&revision.value);
    if (text && *text != program_revision()) revisions_.insert(revisions_.end() - 1, *text);
  }
}

double LikelihoodEvaluation::seconds() const {
  return earlier_ + std::chrono::duration<double>(Clock::now() - started_).count();
}

void LikelihoodEvaluation::save(const fs::path& checkpoint) {
  PtDict dict = estimate_->checkpoint();
  put(dict, "data", data_settings());
  put(dict, "seconds", seconds());
  put(dict, "round_started", round_started_);
  if (round_ > 0) {
    std::vector<double> curve;
    for (const CurvePoint& point : curve_) {
      curve.push_back(static_cast<double>(point.temperatures));
      curve.push_back(point.log_z);
    }
    PtDict rounds;
    put(rounds, "round", round_);
    put(rounds, "first_chain", first_chain_);
    put(rounds, "earlier_steps", earlier_steps_);
    put(rounds, "reverse_from", reverse_from_);
    put(rounds, "curve", torch::tensor(curve, torch::kFloat64).view({-1, 2}));
    put(dict, "rounds", std::move(rounds));
  }
  PtList revisions;
  for (const std::string& revision : revisions_) revisions.push_back(PtValue{revision});
  put(dict, "revisions", std::move(revisions));
  if (ranks().is_rank0()) write_pt(checkpoint, PtValue{std::move(dict)});
  saved_ = Clock::now();
}

bool LikelihoodEvaluation::run(const fs::path& checkpoint, const EvaluationHooks& hooks) {
  const auto save_and_tell = [&] {
    save(checkpoint);
    if (hooks.on_saved) hooks.on_saved();
  };
  std::optional<std::vector<SplitEnergy>> energies(std::in_place);
  if (data_) {
    energies = split_energies(*model_, *data_, context_.device, ranks(),
                              [&] { return context_.to_stop(); });
  }
  // Nothing has been made that the file, if there is one, does not hold.
  if (!energies) return false;
  StopConsensus stop_consensus(ranks());
  bool due = false;
  const auto stop = [&] {
    const StopFlags granted = stop_consensus(
        {.stop = context_.to_stop(), .save = Clock::now() - saved_ > kCheckpointInterval});
    due = granted.save;
    return granted.stop;
  };
  while (true) {
    const bool finished = estimate_->run(
        [&] {
          if (hooks.on_step) hooks.on_step();
          const bool last = steps_done() == steps_total();
          if (last || due) save_and_tell();
        },
        stop);
    if (!finished) {
      save_and_tell();
      return false;
    }
    verdict_ = estimate_->verdict(spec_.bracket);
    rounds_closed_ = verdict_.closed;
    if (const std::string reason = open_anyhow(); !reason.empty()) {
      verdict_.closed = false;
      verdict_.reason += (verdict_.reason.empty() ? "" : "; ") + reason;
    }
    const std::vector<CurvePoint> curve = estimate_->curve();
    curve_.insert(curve_.end(), curve.begin(), curve.end());
    if (!another_round()) break;
    next_round();
  }
  if (on_base() && start_->model().sweeps()) {
    const uint64_t key = stream_key(static_cast<uint64_t>(spec_.seed), RandomStream::kValidation);
    auto& model = dynamic_cast<ResidualModel&>(*model_);
    const BaseWeights weights =
        BaseDraws(model.base_model(), key, context_.device, ranks()).weigh(model);
    if (weights.ess >= kLeastBaseEss) by_weights_ = weights;
  }
  for (const SplitEnergy& split : *energies) splits_.push_back(split.at(log_z(), verdict_));
  return true;
}

// Returns whether the random counters suffice for the steps of a round, which double from each
// round to the next.
bool LikelihoodEvaluation::may_double(int64_t times) const {
  if (times < 0 || times >= 32) return false;
  const int64_t doubled = int64_t{1} << times;
  if (!has_counters(spec_.temperatures, doubled)) return false;
  if (!tempers()) return true;
  const int64_t scans = spec_.temperatures * doubled;
  return has_counters(scans + tempered_burn_in(scans), spec_.exploration.value_or(1));
}

// Returns whether another round follows. A round of twice the temperatures is expected to take
// twice the time, by rank 0's clock.
bool LikelihoodEvaluation::another_round() const {
  const double now = seconds();
  const bool fits =
      may_double(round_ + 1) && now + 2 * (now - round_started_) <= spec_.until_closed;
  return spec_.until_closed > 0 && !rounds_closed_ && ranks().any(ranks().is_rank0() && fits);
}

torch::Tensor LikelihoodEvaluation::energies_of(const torch::Tensor& x) const {
  return energies(*whole_, x, context_.device);
}

std::string LikelihoodEvaluation::outcome() const {
  if (spec_.until_closed <= 0) return "";
  const char* unit = tempers() ? "scans" : "temperatures";
  if (verdict_.closed) return fmt::format("the verdict is closed at {} {}", steps(), unit);
  if (rounds_closed_) {
    return fmt::format("the estimate is closed at {} {}, but the verdict is open: {}", steps(),
                       unit, open_anyhow());
  }
  return fmt::format("the verdict is still open at {} {}, and twice as many do not fit into {:g} s",
                     steps(), unit, spec_.until_closed);
}

const ResidualModel* LikelihoodEvaluation::on_base() const {
  return start_->independent() ? nullptr : dynamic_cast<const ResidualModel*>(model_.get());
}

double LikelihoodEvaluation::start_error() const {
  return on_base() ? on_base()->base_log_z()->standard_error : 0;
}

std::string LikelihoodEvaluation::open_base() const {
  const double error = start_error();
  if (std::isnan(error)) return "the standard error of the base's log Z is not known";
  if (error <= spec_.bracket / 2) return "";
  return fmt::format("standard error {:.2g} nats of the base's log Z", error);
}

std::string LikelihoodEvaluation::open_anyhow() const {
  const std::string base = open_base();
  if (inexact_.empty()) return base;
  return "the model has no definite energy" + (base.empty() ? "" : "; " + base);
}

LogZBounds LikelihoodEvaluation::log_z() const {
  LogZBounds log_z = estimate_->log_z();
  for (double* error : {&log_z.forward_se, &log_z.reverse_se}) {
    *error = std::hypot(*error, start_error());
  }
  return log_z;
}

std::string LikelihoodEvaluation::text() const {
  std::string text = estimate_->text(start_error());
  if (const LogZBounds found = log_z(); found.reverse) {
    text +=
        fmt::format("  log Z within two standard errors: {}\n", interval_text(found.interval()));
  }
  if (!on_base()) return text;
  const KnownLogZ base = *on_base()->base_log_z();
  text += fmt::format("  log Z of the base {}\n", estimate_text(base.value, base.standard_error));
  if (!by_weights_) return text;
  return text + fmt::format("  log Z by weights of {} draws of the base {} (ESS {:.1f})\n",
                            by_weights_->draws,
                            estimate_text(base.value + by_weights_->log_ratio,
                                          std::hypot(by_weights_->standard_error, start_error())),
                            by_weights_->ess);
}

std::string LikelihoodEvaluation::warning() const {
  if (const std::string reason = open_anyhow(); !reason.empty()) {
    return fmt::format("the verdict will be open: {}", reason);
  }
  if (!tempers() || spec_.chains >= kLeastEnsembles) return "";
  return fmt::format(
      "with {} ensembles log Z has no standard error, so that the verdict will be open; `chains` "
      "must be at least {}",
      spec_.chains, kLeastEnsembles);
}

const char* LikelihoodEvaluation::note() const {
  if (tempers()) return kTemperedWays;
  return reverses() ? kBothWays : kForwardBias;
}

// Returns what identifies the result. An annealing that continued under another revision of the
// program names all of its revisions.
Json LikelihoodEvaluation::identity() const {
  Json json = {{"revision", revisions_.back()},
               {"parameters_sha256", parameters_sha256(*model_)},
               {"sampler_options", sampler_options_json(*sampler_)}};
  add_functions(*model_, context_.device, json);
  if (data_) json["data_sha256"] = data_hash_;
  if (revisions_.size() > 1) {
    json["earlier_revisions"] = std::vector(revisions_.begin(), revisions_.end() - 1);
  }
  return json;
}

Json LikelihoodEvaluation::json() const {
  Json curve = Json::array();
  for (const CurvePoint& point : curve_) curve.push_back({point.temperatures, point.log_z});
  Json json = {
      {"method", spec_.method}, {"model", spec_.model.name}, {"sampler", spec_.sampler.name}};
  if (const auto radius = sampler_number(spec_.sampler, "radius")) json["radius"] = *radius;
  if (data_) json["dataset"] = spec_.data.name;
  json.update(Json{{"chains", spec_.chains}, {"steps", steps()}});
  json.update(estimate_->json(start_error()));
  if (on_base()) {
    const KnownLogZ base = *on_base()->base_log_z();
    json.update(Json{{"log_z_base", base.value}, {"log_z_base_se", base.standard_error}});
    if (by_weights_) {
      json.update(Json{{"log_z_by_base_weights", base.value + by_weights_->log_ratio},
                       {"log_z_by_base_weights_se",
                        std::hypot(by_weights_->standard_error, base.standard_error)},
                       {"base_weight_ess", by_weights_->ess}});
    }
  }
  const LogZBounds found = log_z();
  if (found.reverse) {
    json.update(Json{{"bracket", *found.reverse - found.forward},
                     {"log_z_interval", pair_of(found.interval())}});
  }
  json.update(Json{{"verdict", verdict_.word()},
                   {"reason", verdict_.closed ? Json() : Json(verdict_.reason)},
                   {"note", note()}});
  if (spec_.until_closed > 0) json["until_closed"] = outcome();
  const auto bounds = [](const SplitLikelihood& split) {
    return Json{{"forward", split.nats.forward},
                {"reverse", number(split.nats.reverse)},
                {"bidirectional", number(split.nats.both)}};
  };
  const auto sentence = [&](const SplitLikelihood& split) {
    return likelihood_text(split.nats, verdict_);
  };
  json.update(
      Json{{"log_likelihood", by_split(splits_, bounds)},
           {"log_likelihood_interval",
            by_split(splits_, [](const auto& s) { return pair_of(s.nats.interval); })},
           {"log_likelihood_text", by_split(splits_, sentence)},
           {"bits_per_dim", by_split(splits_, [](const auto& s) { return s.bits_per_dim; })},
           {"baseline", by_split(splits_, [](const auto& s) { return s.independent; })},
           {"baseline_bits_per_dim",
            by_split(splits_, [](const auto& s) { return s.independent_bits_per_dim; })},
           {"curve", curve},
           {"acceptance", estimate_->acceptance()},
           {"energy_evaluations", estimate_->energy_evaluations()},
           {"seconds", seconds()},
           {"device", context_.device.str()},
           {"threads", at::get_num_threads()},
           {"seed", spec_.seed},
           {"version", kProgramVersion}});
  if (!inexact_.empty()) json["inexact"] = inexact_;
  json.update(identity());
  return json;
}

void LikelihoodEvaluation::write(const fs::path& directory, const Json& json) const {
  write_pt(directory / "chains.pt", PtValue{chains()});
  const torch::Tensor rungs = estimate_->rung_history();
  if (rungs.defined()) write_pt(directory / "rungs.pt", PtValue{rungs});
  write_file(directory / "ais.json", text_of(json, 2) + "\n");
}

}  // namespace isinglass
