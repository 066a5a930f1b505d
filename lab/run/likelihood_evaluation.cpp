// See likelihood_evaluation.h.
#include "lab/run/likelihood_evaluation.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/registry.h"
#include "io/error.h"
#include "io/files.h"
#include "io/pt/entries.h"
#include "io/pt/pt_file.h"
#include "io/settings.h"
#include "lab/identity.h"
#include "lab/run/annealing_path.h"
#include "lab/run/memory.h"
#include "lab/run/reverse_start.h"
#include "lab/spec/field.h"
#include "lab/toml.h"
#include "models/identity.h"

namespace isinglass {

using Json = nlohmann::ordered_json;

namespace {

namespace fs = std::filesystem;

constexpr const char* kNoData = "none";
constexpr auto kCheckpointInterval = std::chrono::minutes(1);

// A run directory says what its weights are.
ModelSpec as_trained(ModelSpec model) {
  if (model.weights.empty()) return model;
  const fs::path config = fs::absolute(model.weights).parent_path() / "config.toml";
  if (model.name.empty()) {
    const auto name = configured_text(config, "model");
    require_options(name.has_value(),
                    "`model` is needed: `weights` {} does not lie in a run directory",
                    model.weights.string());
    model.name = *name;
  }
  const auto image = configured_text(config, "image");
  if (!model.image && image) model.image = image_size(*image, config.string() + ": image");
  return model;
}

template <class Enum>
Enum named(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

AisOptions ais_options(const EvaluateSpec& spec) {
  AisOptions ais;
  ais.chains = spec.chains;
  ais.schedule = named<Schedule>(schedule_names(), spec.schedule);
  ais.path = named<PathKind>(path_names(), spec.path);
  ais.seed = static_cast<uint64_t>(spec.seed);
  ais.cuda_graph = spec.cuda_graph;
  return ais;
}

// A spec that asks for anything of reverse annealing asks for it.
EvaluateSpec with_reverse(EvaluateSpec spec) {
  spec.reverse = spec.reverse || !spec.reverse_from.empty() || spec.until_closed > 0;
  return spec;
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

}  // namespace

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = {"linear", "sigmoid", "adaptive"};
  return names;
}

LikelihoodEvaluation::LikelihoodEvaluation(EvaluateSpec spec, torch::Device device, Given given)
    : spec_(with_reverse(std::move(spec))),
      device_(device),
      data_hash_(kNoData),
      revisions_{program_revision()} {
  if (!spec_.sampler.name.empty()) find_sampler(spec_.sampler.name);
  spec_.data = resolved(spec_.data);
  spec_.model = resolved(as_trained(spec_.model));
  model_ = given.model ? given.model : model_of(spec_.model, device);
  if (spec_.model.name.empty()) spec_.model.name = model_->kind_name();
  set_gradient_precision(spec_.model, *model_);
  resolve_path(spec_, *model_);
  sampler_ = fixed_sampler_of(spec_.sampler, *model_,
                              "annealing has none: its target changes with every step");
  spec_.sampler = resolved(spec_.sampler, *model_);
  if (reverses()) spec_.reverse_from = resolved_reverse_start(spec_.reverse_from, *model_);
  // The target's and the annealed model's buffers.
  require_memory(2 * sampling_bytes(*model_, spec_.chains), device,
                 fmt::format("`chains` {}", spec_.chains));
  data_ = std::move(given.data);
  if (!data_ && !spec_.data.name.empty()) data_ = images_of(spec_.data);
  if (data_) check_data();
  start_ = given.mean.defined() ? Factorised::bernoulli(given.mean.to(device))
                                : annealing_start(*model_, data_ ? &*data_ : nullptr, device);
  if (spec_.cuda_graph) require_capturable(*model_, *sampler_, device);
  begin_round();
}

void LikelihoodEvaluation::begin_round() {
  AisOptions options = ais_options(spec_);
  options.temperatures = temperatures();
  options.first_chain = first_chain_;
  if (round_ == 0) options.curve = decades_below(options.temperatures);
  if (reverses()) {
    options.reverse =
        reverse_start(spec_.reverse_from, *model_, options.chains, options.temperatures,
                      first_chain_, stream_key(options.seed, RandomStream::kReference), device_);
  }
  annealing_ =
      std::make_unique<AnnealedImportanceSampling>(*model_, *sampler_, *start_, options, device_);
  round_started_ = seconds();
}

void LikelihoodEvaluation::check_data() {
  const StateSpace space = model_->space();
  require_options(space.kind == StateKind::kBinary && data_->train.size(1) == space.sites,
                  "`dataset` {} has {} binary sites per image; {} does not", data_->name,
                  data_->train.size(1), spec_.model.name);
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
    first_chain_ = earlier.integer("first_chain");
    earlier_steps_ = earlier.integer("earlier_steps");
    const torch::Tensor curve = earlier.tensor("curve").to(torch::kFloat64).contiguous();
    require(curve.dim() == 2 && curve.size(1) == 2, "{}: its curve is damaged",
            checkpoint.string());
    for (int64_t i = 0; i < curve.size(0); ++i) {
      curve_.push_back(
          {static_cast<int64_t>(curve[i][0].item<double>()), curve[i][1].item<double>()});
    }
    begin_round();
  }
  annealing_->restore(*dict);
  require(data, "{} does not say of which data it is", checkpoint.string());
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
  PtDict dict = annealing_->checkpoint();
  dict.push_back({"data", PtValue{data_settings()}});
  dict.push_back({"seconds", PtValue{seconds()}});
  dict.push_back({"round_started", PtValue{round_started_}});
  if (round_ > 0) {
    std::vector<double> curve;
    for (const CurvePoint& point : curve_) {
      curve.push_back(static_cast<double>(point.temperatures));
      curve.push_back(point.log_z);
    }
    dict.push_back({"rounds", PtValue{PtDict{
                                  {"round", {round_}},
                                  {"first_chain", {first_chain_}},
                                  {"earlier_steps", {earlier_steps_}},
                                  {"curve", {torch::tensor(curve, torch::kFloat64).view({-1, 2})}},
                              }}});
  }
  PtList revisions;
  for (const std::string& revision : revisions_) revisions.push_back(PtValue{revision});
  dict.push_back({"revisions", PtValue{std::move(revisions)}});
  write_pt(checkpoint, PtValue{std::move(dict)});
  saved_ = Clock::now();
}

bool LikelihoodEvaluation::run(const fs::path& checkpoint, const EvaluationHooks& hooks) {
  std::vector<SplitEnergy> energies;
  if (data_) energies = split_energies(*model_, *data_, device_);
  const auto save_and_tell = [&] {
    save(checkpoint);
    if (hooks.on_saved) hooks.on_saved();
  };
  while (true) {
    result_ = annealing_->run(
        [&] {
          if (hooks.on_step) hooks.on_step();
          const bool last = steps_done() == steps_total();
          if (last || Clock::now() - saved_ > kCheckpointInterval) save_and_tell();
        },
        hooks.stop);
    if (!result_.finished) {
      save_and_tell();
      return false;
    }
    verdict_ = verdict_on(result_.evidence(), spec_.bracket);
    result_.curve.insert(result_.curve.begin(), curve_.begin(), curve_.end());
    if (!another_round()) break;
    curve_ = result_.curve;
    earlier_steps_ = steps_done();
    first_chain_ += annealing_->chain_numbers();
    ++round_;
    begin_round();
  }
  for (const SplitEnergy& split : energies) splits_.push_back(split.at(result_, verdict_));
  return true;
}

// A round of twice the temperatures takes twice the time.
bool LikelihoodEvaluation::another_round() const {
  const double now = seconds();
  return spec_.until_closed > 0 && !verdict_.closed &&
         now + 2 * (now - round_started_) <= spec_.until_closed;
}

std::string LikelihoodEvaluation::outcome() const {
  if (spec_.until_closed <= 0) return "";
  if (verdict_.closed) return fmt::format("closed at {} temperatures", temperatures());
  return fmt::format("still open at {} temperatures: twice as many do not fit into the {:g} s",
                     temperatures(), spec_.until_closed);
}

// What the result is of. An annealing that went on under another revision of the program names all.
Json LikelihoodEvaluation::identity() const {
  Json json = {{"revision", revisions_.back()},
               {"parameters_sha256", parameters_sha256(*model_)},
               {"sampler_options", sampler_options_json(*sampler_)}};
  if (data_) json["data_sha256"] = data_hash_;
  if (revisions_.size() > 1) {
    json["earlier_revisions"] = std::vector(revisions_.begin(), revisions_.end() - 1);
  }
  return json;
}

Json LikelihoodEvaluation::json() const {
  const AisResult& ais = result_;
  Json curve = Json::array();
  for (const CurvePoint& point : ais.curve) curve.push_back({point.temperatures, point.log_z});
  Json json = {{"model", spec_.model.name}, {"sampler", spec_.sampler.name}};
  if (const auto radius = sampler_number(spec_.sampler, "radius")) json["radius"] = *radius;
  if (data_) json["dataset"] = spec_.data.name;
  json.update(Json{{"schedule", spec_.schedule},
                   {"path", spec_.path},
                   {"chains", spec_.chains},
                   {"steps", temperatures()},
                   {"log_z", ais.log_z},
                   {"log_z_se", ais.log_z_se},
                   {"weight_ess", ais.weight_ess}});
  if (ais.reverse) {
    const ReverseResult& reverse = *ais.reverse;
    json.update(Json{{"log_z_upper", reverse.log_z_upper},
                     {"log_z_upper_se", reverse.log_z_upper_se},
                     {"weight_ess_reverse", reverse.weight_ess},
                     {"log_z_bidirectional", reverse.log_z_bidirectional},
                     {"log_z_bidirectional_se", reverse.log_z_bidirectional_se},
                     {"reverse_start", reverse_start_json(spec_.reverse_from, reverse)},
                     {"bracket", reverse.log_z_upper - ais.log_z}});
  }
  json.update(Json{{"verdict", verdict_.word()},
                   {"reason", verdict_.closed ? Json() : Json(verdict_.reason)},
                   {"note", ais.reverse ? kBothWays : kForwardBias}});
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
           {"log_likelihood_text", by_split(splits_, sentence)},
           {"bits_per_dim", by_split(splits_, [](const auto& s) { return s.bits_per_dim; })},
           {"baseline", by_split(splits_, [](const auto& s) { return s.bernoulli; })},
           {"curve", curve},
           {"acceptance", ais.acceptance},
           {"energy_evaluations", ais.energy_evaluations},
           {"seconds", seconds()},
           {"device", device_.str()},
           {"threads", at::get_num_threads()},
           {"seed", spec_.seed},
           {"version", kProgramVersion}});
  json.update(identity());
  return json;
}

}  // namespace isinglass
