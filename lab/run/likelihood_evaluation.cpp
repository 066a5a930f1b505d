// See likelihood_evaluation.h.
#include "lab/run/likelihood_evaluation.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/registry.h"
#include "io/error.h"
#include "io/files.h"
#include "io/pt/pt_file.h"
#include "io/settings.h"
#include "lab/identity.h"
#include "lab/run/memory.h"
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

AisOptions ais_options(const EvaluateSpec& spec) {
  const auto& names = schedule_names();
  AisOptions ais;
  ais.chains = spec.chains;
  ais.temperatures = spec.temperatures;
  ais.schedule =
      static_cast<Schedule>(std::find(names.begin(), names.end(), spec.schedule) - names.begin());
  ais.seed = static_cast<uint64_t>(spec.seed);
  ais.curve = decades_below(ais.temperatures);
  ais.cuda_graph = spec.cuda_graph;
  return ais;
}

template <class T>
const T* entry(const PtDict& dict, const std::string& key) {
  const auto found =
      std::find_if(dict.begin(), dict.end(), [&](const auto& e) { return e.first == key; });
  return found == dict.end() ? nullptr : std::get_if<T>(&found->second.value);
}

Json likelihoods_json(const std::vector<SplitLikelihood>& splits, double SplitLikelihood::* value) {
  Json json = Json::object();
  for (const SplitLikelihood& split : splits) json[split.split] = split.*value;
  return json;
}

}  // namespace

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = {"linear", "sigmoid", "adaptive"};
  return names;
}

LikelihoodEvaluation::LikelihoodEvaluation(EvaluateSpec spec, torch::Device device, Given given)
    : spec_(std::move(spec)), device_(device), data_hash_(kNoData), revisions_{program_revision()} {
  if (spec_.sampler.name.empty()) spec_.sampler.name = kDefaultSampler;
  find_sampler(spec_.sampler.name);
  spec_.data = resolved(spec_.data);
  spec_.model = resolved(as_trained(spec_.model));
  model_ = given.model ? given.model : model_of(spec_.model, device);
  if (spec_.model.name.empty()) spec_.model.name = model_->kind_name();
  set_gradient_precision(spec_.model, *model_);
  sampler_ = fixed_sampler_of(spec_.sampler, *model_,
                              "annealing has none: its target changes with every step");
  spec_.sampler = resolved(spec_.sampler, *model_);
  // The target's and the annealed model's buffers.
  require_memory(2 * sampling_bytes(*model_, spec_.chains), device,
                 fmt::format("`chains` {}", spec_.chains));
  data_ = std::move(given.data);
  if (!data_ && !spec_.data.name.empty()) data_ = images_of(spec_.data);
  if (data_) check_data();
  start_ = given.mean.defined() ? Factorised::bernoulli(given.mean.to(device))
                                : annealing_start(*model_, data_ ? &*data_ : nullptr, device);
  if (spec_.cuda_graph) require_capturable(*model_, *sampler_, device);
  annealing_ = std::make_unique<AnnealedImportanceSampling>(*model_, *sampler_, *start_,
                                                            ais_options(spec_), device);
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
  const auto* data = entry<PtDict>(*dict, "data");
  if (data) require_same_settings(*data, data_settings(), checkpoint.string());
  annealing_->restore(*dict);
  require(data, "{} does not say of which data it is", checkpoint.string());
  if (const auto* seconds = entry<double>(*dict, "seconds")) earlier_ = *seconds;
  const auto* revisions = entry<PtList>(*dict, "revisions");
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
  result_ = annealing_->run(
      [&] {
        if (hooks.on_step) hooks.on_step();
        const bool last = steps_done() == steps_total();
        if (last || Clock::now() - saved_ > kCheckpointInterval) save_and_tell();
      },
      hooks.stop);
  if (!result_.finished) save_and_tell();
  for (const SplitEnergy& split : energies) splits_.push_back(split.at(result_.log_z));
  return result_.finished;
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
  const std::string warning = weights_warning(ais.weight_ess, ais.log_weights.numel());
  Json curve = Json::array();
  for (const CurvePoint& point : ais.curve) curve.push_back({point.temperatures, point.log_z});
  Json json = {{"model", spec_.model.name}, {"sampler", spec_.sampler.name}};
  if (const auto radius = sampler_number(spec_.sampler, "radius")) json["radius"] = *radius;
  if (data_) json["dataset"] = spec_.data.name;
  json.update(Json{{"schedule", spec_.schedule},
                   {"chains", spec_.chains},
                   {"steps", spec_.temperatures},
                   {"log_z", ais.log_z},
                   {"log_z_se", ais.log_z_se},
                   {"weight_ess", ais.weight_ess},
                   {"warning", warning.empty() ? Json() : Json(warning)},
                   {"note", kForwardBias},
                   {"log_likelihood", likelihoods_json(splits_, &SplitLikelihood::model)},
                   {"bits_per_dim", likelihoods_json(splits_, &SplitLikelihood::bits_per_dim)},
                   {"baseline", likelihoods_json(splits_, &SplitLikelihood::bernoulli)},
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
