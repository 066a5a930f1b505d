// isinglass evaluate: log Z by annealed importance sampling and log-likelihoods of the data's
// splits. Writes ais.json and chains.pt (the final chains and their log-weights).
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/identity.h"
#include "cli/terminal/interrupt.h"
#include "lab/run/memory.h"
#include "cli/output_directory.h"
#include "cli/terminal/progress.h"
#include "cli/options/shared_options.h"
#include "io/error.h"
#include "io/files.h"
#include "io/pt/pt_file.h"
#include "io/settings.h"
#include "lab/toml.h"
#include "models/identity.h"
#include "train/likelihood.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr const char* kNoData = "none";
constexpr auto kCheckpointInterval = std::chrono::minutes(1);
const std::vector<std::string> kSchedules = {"linear", "sigmoid", "adaptive"};  // enum order

// A run directory says what its weights are.
void resolve_model(Options& options) {
  const fs::path config = fs::absolute(options.path("weights")).parent_path() / "config.toml";
  if (!options.has("model")) {
    const auto model = configured_text(config, "model");
    require(model.has_value(), "--model is needed: --weights {} does not lie in a run directory",
            options.text("weights"));
    options.set("model", *model);
  }
  const auto image = configured_text(config, "image");
  if (!options.given("image") && image) options.set("image", *image);
}

AisOptions ais_options(const Options& options) {
  AisOptions ais;
  ais.chains = options.integer("chains");
  ais.temperatures = options.integer("steps");
  ais.schedule = static_cast<Schedule>(
      std::find(kSchedules.begin(), kSchedules.end(), options.text("schedule")) -
      kSchedules.begin());
  ais.seed = static_cast<uint64_t>(options.integer("seed"));
  ais.curve = decades_below(ais.temperatures);
  return ais;
}

// Annealing that saves itself every minute, at its end and when it is stopped, in one file of the
// directory.
class ResumableAnnealing {
 public:
  // `data`: their SHA-256, "none" without any.
  ResumableAnnealing(AnnealedImportanceSampling& annealing, std::string data, OutputDirectory& out)
      : annealing_(annealing),
        data_(std::move(data)),
        out_(out),
        file_(out.file("ais-checkpoint.pt")) {}

  const fs::path& file() const { return file_; }

  // Seconds, earlier sittings included.
  double seconds() const {
    return earlier_ + std::chrono::duration<double>(Clock::now() - start_).count();
  }

  // "300 of 1000 steps; …": how far it has come, and how to go on.
  std::string standing() const {
    return fmt::format("{} of {} steps; isinglass evaluate --resume {} goes on",
                       annealing_.steps_done(), annealing_.steps_total(), out_.path().string());
  }

  // Revisions of the program that made it, the present one last.
  const std::vector<std::string>& revisions() const { return revisions_; }

  // Throws Error if the checkpoint is of another annealing or other data.
  void restore() {
    const PtValue saved = read_pt(file_);
    const auto* dict = std::get_if<PtDict>(&saved.value);
    require(dict, "{} is not an annealing checkpoint", file_.string());
    const auto* data = entry<PtDict>(*dict, "data");
    if (data) require_same_settings(*data, data_settings(), file_.string());
    annealing_.restore(*dict);
    require(data, "{} does not say of which data it is", file_.string());
    if (const auto* seconds = entry<double>(*dict, "seconds")) earlier_ = *seconds;
    if (const auto* revisions = entry<PtList>(*dict, "revisions")) add_earlier(*revisions);
  }

  AisResult run(bool quiet) {
    Progress progress("anneal", annealing_.steps_total(), quiet, annealing_.steps_done());
    AisResult result = annealing_.run(
        [&] {
          progress.update(annealing_.steps_done());
          const bool last = annealing_.steps_done() == annealing_.steps_total();
          if (last || Clock::now() - saved_ > kCheckpointInterval) save();
        },
        interrupted);
    if (!result.finished) save();
    return result;
  }

 private:
  PtDict data_settings() const { return {{"data_sha256", {data_}}}; }

  template <class T>
  static const T* entry(const PtDict& dict, const std::string& key) {
    const auto found =
        std::find_if(dict.begin(), dict.end(), [&](const auto& e) { return e.first == key; });
    return found == dict.end() ? nullptr : std::get_if<T>(&found->second.value);
  }

  void add_earlier(const PtList& revisions) {
    for (const PtValue& revision : revisions) {
      const auto* text = std::get_if<std::string>(&revision.value);
      if (text && *text != program_revision()) revisions_.insert(revisions_.end() - 1, *text);
    }
  }

  void save() {
    PtDict dict = annealing_.checkpoint();
    dict.push_back({"data", PtValue{data_settings()}});
    dict.push_back({"seconds", PtValue{seconds()}});
    PtList revisions;
    for (const std::string& revision : revisions_) revisions.push_back(PtValue{revision});
    dict.push_back({"revisions", PtValue{std::move(revisions)}});
    write_pt(file_, PtValue{std::move(dict)});
    saved_ = Clock::now();
    out_.keep(fmt::format("{} holds {}", file_.string(), standing()));
  }

  AnnealedImportanceSampling& annealing_;
  std::string data_;
  OutputDirectory& out_;
  fs::path file_;
  Clock::time_point start_ = Clock::now(), saved_ = start_;
  double earlier_ = 0;
  std::vector<std::string> revisions_ = {program_revision()};
};

Json likelihoods_json(const std::vector<SplitLikelihood>& splits, double SplitLikelihood::*value) {
  Json json = Json::object();
  for (const SplitLikelihood& split : splits) json[split.split] = split.*value;
  return json;
}

Json result_json(const Options& options, const AisResult& ais,
                 const std::vector<SplitLikelihood>& splits, double seconds, torch::Device device,
                 const Json& identity) {
  const std::string warning = weights_warning(ais.weight_ess, ais.log_weights.numel());
  Json curve = Json::array();
  for (const CurvePoint& point : ais.curve) curve.push_back({point.temperatures, point.log_z});
  Json json = {{"model", options.text("model")}, {"sampler", options.text("sampler")}};
  if (options.has("radius")) json["radius"] = options.real("radius");
  if (options.has("dataset")) json["dataset"] = options.text("dataset");
  json.update(Json{{"schedule", options.text("schedule")},
                   {"chains", options.integer("chains")},
                   {"steps", options.integer("steps")},
                   {"log_z", ais.log_z},
                   {"log_z_se", ais.log_z_se},
                   {"weight_ess", ais.weight_ess},
                   {"warning", warning.empty() ? Json() : Json(warning)},
                   {"note", kForwardBias},
                   {"log_likelihood", likelihoods_json(splits, &SplitLikelihood::model)},
                   {"bits_per_dim", likelihoods_json(splits, &SplitLikelihood::bits_per_dim)},
                   {"baseline", likelihoods_json(splits, &SplitLikelihood::bernoulli)},
                   {"curve", curve},
                   {"acceptance", ais.acceptance},
                   {"energy_evaluations", ais.energy_evaluations},
                   {"seconds", seconds},
                   {"device", device.str()},
                   {"threads", at::get_num_threads()},
                   {"seed", options.integer("seed")},
                   {"version", ISINGLASS_VERSION}});
  json.update(identity);
  return json;
}

// What the result is of. An annealing that went on under another revision of the program names all.
Json identity_json(const EnergyModel& model, const Sampler& sampler, const std::string& data,
                   const std::vector<std::string>& revisions) {
  Json json = {{"revision", revisions.back()},
               {"parameters_sha256", parameters_sha256(model)},
               {"sampler_options", sampler_options_json(sampler)}};
  if (data != kNoData) json["data_sha256"] = data;
  if (revisions.size() > 1) {
    json["earlier_revisions"] = std::vector(revisions.begin(), revisions.end() - 1);
  }
  return json;
}

std::string result_text(const AisResult& ais, const std::vector<SplitLikelihood>& splits,
                        const OutputDirectory& out) {
  const int64_t chains = ais.log_weights.numel();
  std::string text =
      fmt::format("log Z {:.3f} ± {} (ESS of the weights {:.1f} of {})\n", ais.log_z,
                  std::isnan(ais.log_z_se) ? "undefined" : fmt::format("{:.3f}", ais.log_z_se),
                  ais.weight_ess, chains);
  const std::string warning = weights_warning(ais.weight_ess, chains);
  if (!warning.empty()) text += fmt::format("  warning: {}\n", warning);
  for (const SplitLikelihood& split : splits) {
    text += fmt::format(
        "  {:<10} {:10.3f} nats per image, {:.4f} bits per pixel; independent pixels "
        "{:.3f} nats\n",
        split.split, split.model, split.bits_per_dim, split.bernoulli);
  }
  if (!splits.empty()) text += fmt::format("  {}\n", kForwardBias);
  return text + fmt::format("  written to {}\n", out.path().string());
}

std::string run_evaluate(Options& options) {
  const torch::Device device = device_of(options);
  find_sampler(options.text("sampler"));
  OutputDirectory out(options);
  if (options.has("weights")) resolve_model(options);
  const std::shared_ptr<EnergyModel> model = model_of(options, device);
  set_gradient_precision(options, *model);
  const std::unique_ptr<Sampler> sampler =
      fixed_sampler_of(options, *model, "annealing has none: its target changes with every step");
  // The target's and the annealed model's buffers.
  require_memory(2 * sampling_bytes(*model, options.integer("chains")), device,
                 fmt::format("--chains {}", options.integer("chains")));
  std::optional<Dataset> data;
  if (options.has("dataset")) {
    data = dataset_of(options);
    require(
        model->space().kind == StateKind::kBinary && data->train.size(1) == model->space().sites,
        "--dataset {} has {} binary sites an image; {} does not", data->name, data->train.size(1),
        options.text("model"));
  }
  const Factorised start = annealing_start(*model, data ? &*data : nullptr, device);
  AisOptions ais = ais_options(options);
  ais.cuda_graph = cuda_graph_of(options, *model, *sampler, device);
  AnnealedImportanceSampling annealing(*model, *sampler, start, ais, device);
  const std::string data_hash = data ? data_sha256(*data) : kNoData;
  ResumableAnnealing resumable(annealing, data_hash, out);
  if (options.has("resume")) {
    require(!fs::exists(out.file("ais.json")), "--resume {}: that evaluation is finished",
            out.path().string());
    if (fs::exists(resumable.file())) resumable.restore();
  }

  Json json;
  std::string text;
  out.fill(options, [&] {
    // First the energies: an image that has none ends the run before it begins.
    std::vector<SplitEnergy> energies;
    if (data) energies = split_energies(*model, *data, device);
    const AisResult ais = resumable.run(options.flag("quiet"));
    if (!ais.finished) {
      throw Interrupted("saved after " + resumable.standing());
    }
    std::vector<SplitLikelihood> splits;
    for (const SplitEnergy& split : energies) splits.push_back(split.at(ais.log_z));
    json = result_json(options, ais, splits, resumable.seconds(), device,
                       identity_json(*model, *sampler, data_hash, resumable.revisions()));
    text = result_text(ais, splits, out);
    write_pt(out.file("chains.pt"),
             PtValue{PtDict{{"x", PtValue{ais.x}}, {"log_weights", PtValue{ais.log_weights}}}});
    write_file(out.file("ais.json"), json.dump(2) + "\n");
    fs::remove(resumable.file());
  });
  return options.flag("json") ? json.dump(2) + "\n" : text;
}

}  // namespace

Command evaluate_command() {
  Command command{.name = "evaluate",
                  .summary = "log Z by annealed importance sampling, and log-likelihoods",
                  .run = run_evaluate};
  append(command.options, model_options());
  append(command.options, data_options());
  append(command.options, sampler_options("pafs"));
  append(command.options, {gradient_precision_option(), cuda_graph_option()});
  const AisOptions ais;
  append(command.options, {{.name = "chains",
                            .type = ValueType::kInteger,
                            .unit = "B",
                            .help = "annealed chains",
                            .initial = ais.chains,
                            .minimum = 1,
                            .maximum = 1e8},
                           {.name = "steps",
                            .type = ValueType::kInteger,
                            .unit = "N",
                            .help = "temperatures",
                            .initial = ais.temperatures,
                            .minimum = 1,
                            .maximum = 4e9},
                           {.name = "schedule",
                            .unit = "NAME",
                            .help = "spacing of the temperatures",
                            .initial = kSchedules.front(),
                            .choices = kSchedules},
                           {.name = "out",
                            .type = ValueType::kPath,
                            .unit = "DIR",
                            .help = "directory of the results; required, or --resume",
                            .stored = false},
                           {.name = "resume",
                            .type = ValueType::kPath,
                            .unit = "DIR",
                            .help = "go on with the evaluation of this directory",
                            .stored = false},
                           overwrite_option()});
  return command;
}

}  // namespace isinglass
