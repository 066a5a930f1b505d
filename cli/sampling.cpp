// See sampling.h.
#include "cli/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/identity.h"
#include "cli/terminal/interrupt.h"
#include "lab/run/memory.h"
#include "cli/sample_summary.h"
#include "cli/options/shared_options.h"
#include "io/error.h"
#include "io/files.h"
#include "io/pt/pt_file.h"
#include "kernels/random/philox.h"
#include "models/combined/misled.h"

namespace isinglass {

using Json = nlohmann::ordered_json;

namespace {

constexpr double kBytesADraw = 128;  // of one chain's statistic, with its diagnostics

// Training images drawn with the seed, one a chain; binary, or of grey levels from 0 to 1.
torch::Tensor data_states(Options& options, const StateSpace& space, int64_t chains) {
  require(options.has("dataset"), "--init data needs --dataset NAME");
  const Dataset data = dataset_of(options);
  record_data(options, data);
  const torch::Tensor images = space.discrete()
                                   ? binarise_once(data.train, data.levels, 0)
                                   : data.train.to(torch::kFloat32).div_(data.levels - 1);
  torch::Tensor rows = torch::empty({chains}, torch::kInt64);
  for (int64_t chain = 0; chain < chains; ++chain) {
    const Draws draws{static_cast<uint64_t>(options.integer("seed")), static_cast<uint32_t>(chain),
                      0};
    rows[chain] = draws.below(static_cast<uint32_t>(images.size(0)), Purpose::kDataInit);
  }
  return images.index_select(0, rows);
}

// --init FILE: its rows are the chains.
torch::Tensor saved_states(Options& options, const StateSpace& space) {
  const std::string file = options.text("init");
  const torch::Tensor x = read_tensor(file);
  check_states(space, x, file);
  require(!options.given("chains") || options.integer("chains") == x.size(0),
          "--chains is {}, but {} holds {} states", options.integer("chains"), file, x.size(0));
  options.set("chains", x.size(0));
  options.set("init", std::filesystem::absolute(file).string());
  return x;
}

// What --init says beside the name of a file.
bool fresh(const Options& options) {
  const std::string& init = options.text("init");
  return init == "random" || init == "data" || init == "instance";
}

// --init instance: where the target's paper starts them.
torch::Tensor instance_states(const EnergyModel& model, torch::Tensor noise) {
  const auto* misled = dynamic_cast<const MisledModel*>(&model);
  require(misled, "--init instance needs an --instance that says where chains start; {} does not",
          model.kind_name());
  const Start& start = misled->start();
  return noise.mul_(start.deviation).add_(start.mean.to(noise.options()));
}

// --init random, data or instance.
torch::Tensor fresh_states(Options& options, const EnergyModel& model, torch::Device device) {
  const StateSpace space = model.space();
  const int64_t chains = options.integer("chains");
  if (options.text("init") == "data") {
    const torch::Tensor x = data_states(options, space, chains);
    check_states(space, x, "--dataset " + options.text("dataset"));
    return x;
  }
  const torch::Tensor ids =
      torch::arange(chains, torch::TensorOptions(torch::kInt64).device(device));
  const torch::Tensor x =
      random_states(space, ids, static_cast<uint64_t>(options.integer("seed")), device);
  return options.text("init") == "instance" ? instance_states(model, x) : x;
}

void check_memory(const Options& options, const EnergyModel& model, const RunPlan& plan,
                  torch::Device device) {
  const double chains = static_cast<double>(options.integer("chains"));
  require_memory(sampling_bytes(model, options.integer("chains")), device,
                 fmt::format("--chains {}", options.integer("chains")));
  const SamplerEntry& sampler = find_sampler(options.text("sampler"));
  const double sites = static_cast<double>(model.space().sites);
  require_memory(8 * sites * sites * static_cast<double>(sampler.site_matrices), device,
                 fmt::format("{} on {} sites", sampler.name, model.space().sites));
  const double draws = static_cast<double>(plan.steps / plan.thin);
  require_memory(draws * chains * kBytesADraw, torch::kCPU,
                 fmt::format("--chains {} for {} draws", options.integer("chains"), draws));
}

// --warm-start: the numbers that an earlier run adapted stand for options that are not given, and
// what it learned goes to the chains.
void read_warm_start(Options& options) {
  const std::string file = options.text("warm-start");
  const auto summary = nlohmann::json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  require(summary.is_object() && summary.contains("adapted") && summary["adapted"].is_object(),
          "--warm-start {}: not the summary.json of a run of isinglass sample", file);
  require(summary.value("sampler", "") == options.text("sampler"),
          "--warm-start {}: that run used the sampler {}, this one {}", file,
          summary.value("sampler", "?"), options.text("sampler"));
  for (const auto& [name, value] : summary["adapted"].items()) {
    require(value.is_number() && std::any_of(sampler_numbers().begin(), sampler_numbers().end(),
                                             [&](const auto& n) { return n.first == name; }),
            "--warm-start {}: '{}' is not a number of a sampler", file, name);
    if (!options.given(name)) options.set(name, value.get<double>());
  }
}

void restore_learned(const Options& options, const Sampler& sampler, ChainState& state) {
  const auto file = options.path("warm-start").parent_path() / "learned.pt";
  if (std::filesystem::exists(file)) sampler.restore(state, read_named_tensors(file));
}

}  // namespace

std::shared_ptr<EnergyModel> sampled_model(Options& options, torch::Device device) {
  if (!options.has("instance")) return sampled_model_of(options, device);
  for (const char* other : {"weights", "gradient-model"}) {
    require(!options.has(other), "--{} and --instance exclude each other", other);
  }
  const std::shared_ptr<EnergyModel> model = instance_of(options);
  if (options.has("model")) {
    require(options.text("model") == model->kind_name(),
            "--model is {}, but --instance {} is of {}", options.text("model"),
            options.text("instance"), model->kind_name());
  }
  options.set("model", model->kind_name());
  model->to(device);
  return model;
}

namespace {

// --anneal T0,T1
Temperatures temperatures_of(const Options& options) {
  const std::string& text = options.text("anneal");
  const char* end = text.data() + text.size();
  Temperatures t;
  const auto first = std::from_chars(text.data(), end, t.first);
  bool valid = first.ec == std::errc() && first.ptr != end && *first.ptr == ',';
  if (valid) {
    const auto last = std::from_chars(first.ptr + 1, end, t.last);
    valid = last.ec == std::errc() && last.ptr == end;
  }
  for (const double temperature : {t.first, t.last}) {
    valid = valid && std::isfinite(temperature) && temperature > 0;
  }
  require(valid, "--anneal is '{}'; two temperatures above 0 are needed, such as 2,0.1", text);
  return t;
}

std::unique_ptr<Cooling> cooling_of(const Options& options, EnergyModel& model, const RunPlan& plan,
                                    torch::Device device) {
  if (!options.has("anneal")) return nullptr;
  const Temperatures temperatures = temperatures_of(options);
  const StateKind kind = model.space().kind;
  require(kind == StateKind::kBinary || kind == StateKind::kCategorical,
          "--anneal cools binary and categorical sites; the states of model {} are {}",
          model.kind_name(), kinds_text({kind}));
  require(plan.burn_in >= 2, "--anneal cools in burn-in: --burn-in is {}; at least 2 is needed",
          plan.burn_in);
  return std::make_unique<Cooling>(model, temperatures, device);
}

}  // namespace

RunPlan plan_of(const Options& options) {
  const RunPlan plan{options.integer("burn-in"), options.integer("steps"), options.integer("thin")};
  require(plan.steps == 0 || plan.thin <= plan.steps,
          "--thin is {}; at most --steps = {} is needed", plan.thin, plan.steps);
  require(static_cast<double>(plan.burn_in) + static_cast<double>(plan.steps) <= kLargestStep,
          "--burn-in and --steps add up to {}; at most {} is needed", plan.burn_in + plan.steps,
          kLargestStep);
  return plan;
}

Sampling::Sampling(Options& options, torch::Device device, std::shared_ptr<EnergyModel> model)
    : options_(options),
      plan_(plan_of(options)),
      model_(model ? std::move(model) : sampled_model(options, device)),
      cooling_(cooling_of(options, *model_, plan_, device)) {
  set_gradient_precision(options, *model_);
  plan_.cooling = cooling_.get();
  seek_solutions();
  if (options.has("warm-start")) read_warm_start(options);
  sampler_ = sampler_of(options, target());
  plan_.cuda_graph = cuda_graph_of(options, target(), *sampler_, device);
  const bool saved = !fresh(options);
  torch::Tensor x;
  if (saved) x = saved_states(options, model_->space());
  check_memory(options, *model_, plan_, device);
  if (!saved) x = fresh_states(options, *model_, device);
  const torch::Tensor ids =
      torch::arange(x.size(0), torch::TensorOptions(torch::kInt64).device(device));
  state_ = sampler_->init(target(), x.to(device), ids);
  params_ = sampler_->params(static_cast<uint64_t>(options.integer("seed")), device);
  if (options.has("warm-start")) restore_learned(options, *sampler_, state_);
  statistic_ = make_statistic(options.text("statistic"), model_->space(), device);
}

void Sampling::seek_solutions() {
  auto* problem = dynamic_cast<GraphProblem*>(model_.get());
  require(!options_.has("optimum") || problem,
          "--optimum is given, but model {} is no problem with solutions", model_->kind_name());
  if (problem) best_ = std::make_unique<BestSolution>(*problem);
}

Recorder::Shape Sampling::draws() const {
  return {plan_.steps / plan_.thin, state_.chains(), state_.sites(), state_.x.scalar_type()};
}

Recorder Sampling::recorder(bool keep_samples, std::filesystem::path file) const {
  return Recorder(draws(), statistic_, keep_samples, std::move(file));
}

const RunResult& Sampling::run(Recorder& recorder, std::vector<Observer*> observers) {
  observers.insert(observers.begin(), &recorder);
  if (best_) observers.push_back(best_.get());
  std::optional<Uncooled> uncooled;
  if (cooling_) observers = {&uncooled.emplace(*cooling_, observers)};
  result_ = isinglass::run(target(), *sampler_, state_, params_, plan_, observers, interrupted);
  return result_;
}

Json Sampling::summary(const Recorder& recorder) const {
  Json summary = summary_json(options_, *model_, *sampler_, params_, plan_, result_, recorder);
  if (cooling_) summary["anneal"] = options_.text("anneal");
  if (best_) summary["best"] = solution_json(options_, *best_);
  return summary;
}

}  // namespace isinglass
