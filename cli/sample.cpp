// isinglass sample: draws from a model by a sampler. Writes samples.pt (`samples` [draws, B, D],
// `energy` float32 [draws, B]) and summary.json.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/memory.h"
#include "cli/output_directory.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "engine/diagnostics/ess.h"
#include "engine/run.h"
#include "io/error.h"
#include "io/files.h"
#include "io/pt_file.h"
#include "kernels/philox.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLargestStep = 4294967295.0;  // steps are numbered by 32 bits

// The kept draws, on the CPU.
class Recorder : public Observer {
 public:
  Recorder(const StateSpace& space, int64_t draws, int64_t chains, bool keep_samples) {
    energy_ = torch::empty({draws, chains}, torch::kFloat64);
    if (keep_samples) samples_ = torch::empty({draws, chains, space.sites}, space.dtype());
  }

  void on_draw(int64_t draw, const ChainState& state) override {
    energy_[draw].copy_(state.current.energy);
    if (samples_.defined()) samples_[draw].copy_(state.x);
    made_ = draw + 1;
  }

  int64_t made() const { return made_; }
  torch::Tensor energy() const { return energy_.narrow(0, 0, made_); }
  torch::Tensor samples() const { return samples_.narrow(0, 0, made_); }

 private:
  torch::Tensor energy_, samples_;
  int64_t made_ = 0;
};

class ProgressObserver : public Observer {
 public:
  ProgressObserver(const RunPlan& plan, bool quiet)
      : burn_in_(plan.burn_in), progress_("sample", plan.burn_in + plan.steps, quiet) {}

  void on_step(int64_t step, bool burn_in) override {
    progress_.update(burn_in ? step + 1 : burn_in_ + step + 1, burn_in ? "burn-in" : "");
  }

 private:
  int64_t burn_in_;
  Progress progress_;
};

// Training images drawn with the seed, one a chain.
torch::Tensor data_states(Options& options, int64_t chains) {
  require(options.has("dataset"), "--init data needs --dataset NAME");
  const Dataset data = dataset_of(options);
  const torch::Tensor images = binarise_once(data.train, data.levels, 0);
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

// --init random or data.
torch::Tensor fresh_states(Options& options, const StateSpace& space, torch::Device device) {
  const int64_t chains = options.integer("chains");
  if (options.text("init") == "data") {
    const torch::Tensor x = data_states(options, chains);
    check_states(space, x, "--dataset " + options.text("dataset"));
    return x;
  }
  const torch::Tensor ids =
      torch::arange(chains, torch::TensorOptions(torch::kInt64).device(device));
  return random_states(space, ids, static_cast<uint64_t>(options.integer("seed")), device);
}

RunPlan plan_of(const Options& options) {
  const RunPlan plan{options.integer("burn-in"), options.integer("steps"), options.integer("thin")};
  require(plan.steps == 0 || plan.thin <= plan.steps,
          "--thin is {}; at most --steps = {} is needed", plan.thin, plan.steps);
  require(static_cast<double>(plan.burn_in) + static_cast<double>(plan.steps) <= kLargestStep,
          "--burn-in and --steps add up to {}; at most {} is needed", plan.burn_in + plan.steps,
          kLargestStep);
  return plan;
}

void check_memory(const Options& options, const EnergyModel& model, const RunPlan& plan,
                  torch::Device device) {
  const double chains = static_cast<double>(options.integer("chains"));
  require_memory(sampling_bytes(model, options.integer("chains")), device,
                 fmt::format("--chains {}", options.integer("chains")));
  // Draws, and their copy in the file's bytes.
  const double draws = static_cast<double>(plan.steps / plan.thin);
  const StateSpace space = model.space();
  const double bytes =
      static_cast<double>(space.sites) * static_cast<double>(torch::elementSize(space.dtype()));
  require_memory(draws * chains * (2 * (options.flag("no-samples") ? 0 : bytes) + 16), torch::kCPU,
                 fmt::format("--chains {} for {} draws", options.integer("chains"), draws));
}

Json ess_json(const Recorder& recorder, const RunResult& result, int64_t chains) {
  const torch::Tensor per_chain = recorder.made() > 0
                                      ? legacy_ess(recorder.energy())
                                      : torch::full({chains}, std::nan(""), torch::kFloat64);
  const DiagnosticSummary ess = summarise(per_chain);
  return {{"mean", ess.mean},
          {"std", ess.std},
          {"undefined", ess.undefined},
          {"per_step", ess.mean / static_cast<double>(result.steps)},
          {"per_evaluation", ess.mean / static_cast<double>(result.energy_evaluations)},
          {"per_second", ess.mean / result.seconds},
          {"per_second_all", ess.mean / result.seconds * static_cast<double>(chains)}};
}

// NaN becomes null.
Json summary_json(const Options& options, const EnergyModel& model, const RunPlan& plan,
                  const RunResult& result, const Recorder& recorder, torch::Device device) {
  const bool stepped = result.steps > 0;
  const int64_t chains = options.integer("chains");
  Json summary = {{"model", options.text("model")}, {"sampler", options.text("sampler")}};
  if (options.has("radius")) summary["radius"] = options.real("radius");
  const auto if_stepped = [&](double value) { return stepped ? value : std::nan(""); };
  summary.update(
      Json{{"chains", chains},
           {"sites", model.space().sites},
           {"burn_in", plan.burn_in},
           {"steps", plan.steps},
           {"steps_done", result.steps},
           {"thin", plan.thin},
           {"draws", recorder.made()},
           {"acceptance", if_stepped(result.acceptance)},
           {"hops", if_stepped(result.hops)},
           {"energy_evaluations", result.energy_evaluations},
           {"non_finite", result.non_finite},
           {"seconds", result.seconds},
           {"steps_per_second", if_stepped(static_cast<double>(result.steps) / result.seconds)},
           {"ess", ess_json(recorder, result, chains)},
           {"device", device.str()},
           {"threads", at::get_num_threads()},
           {"seed", options.integer("seed")},
           {"version", ISINGLASS_VERSION}});
  return summary;
}

std::string summary_text(const Json& summary, const OutputDirectory& out) {
  const auto number = [](const Json& value) {
    return value.is_number() && std::isfinite(value.get<double>())
               ? fmt::format("{:.4g}", value.get<double>())
               : "undefined";
  };
  const Json& ess = summary["ess"];
  return fmt::format(
      "{} by {}: {} chains, {} steps, {} draws\n"
      "  acceptance {}, hops a step {}\n"
      "  {} steps/s, {} model calls a chain\n"
      "  ESS of the energy {} ± {} (a step {}, a second and chain {})\n"
      "  written to {}\n",
      summary["model"].get<std::string>(), summary["sampler"].get<std::string>(),
      summary["chains"].get<int64_t>(), summary["steps_done"].get<int64_t>(),
      summary["draws"].get<int64_t>(), number(summary["acceptance"]), number(summary["hops"]),
      number(summary["steps_per_second"]), summary["energy_evaluations"].get<int64_t>(),
      number(ess["mean"]), number(ess["std"]), number(ess["per_step"]), number(ess["per_second"]),
      out.path().string());
}

Json options_json(const SamplerEntry& sampler) {
  Json options = Json::object();
  for (const SamplerOptionUse& use : sampler.options) {
    Json range = Json::object();
    if (use.most > use.least) range = {{"from", use.least}, {"to", use.most}, {"whole", use.whole}};
    if (use.initial) range["default"] = *use.initial;
    options[use.name] = range;
  }
  return options;
}

// "radius (1 to 65536, default 5), balancing"
std::string options_text(const SamplerEntry& sampler) {
  std::vector<std::string> texts;
  for (const SamplerOptionUse& use : sampler.options) {
    std::string text = use.name;
    if (use.most > use.least) {
      text += fmt::format(" ({}{}{} to {}{})", use.whole ? "whole, " : "",
                          use.above_least ? "above " : "", use.least, use.most,
                          use.initial ? fmt::format(", default {}", *use.initial) : "");
    }
    texts.push_back(text);
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

Json registry_json() {
  Json list = {{"samplers", Json::array()}, {"models", Json::array()}};
  for (const SamplerEntry& s : sampler_registry()) {
    list["samplers"].push_back({{"name", s.name},
                                {"summary", s.summary},
                                {"needs", s.needs},
                                {"states", kinds_text(s.kinds)},
                                {"options", options_json(s)},
                                {"paper", s.paper}});
  }
  for (const ModelEntry& m : model_registry()) {
    list["models"].push_back({{"name", m.name},
                              {"energy", m.energy},
                              {"states", m.state_kinds},
                              {"parameters", m.parameters},
                              {"gradient", m.gradient},
                              {"trainable", m.trainable}});
  }
  return list;
}

std::string registry_text() {
  std::string text = "samplers\n";
  for (const SamplerEntry& s : sampler_registry()) {
    text += fmt::format("  {:<12} {} ({})\n{:15}states: {}; needs: {}; options: {}\n", s.name,
                        s.summary, s.paper, "", kinds_text(s.kinds), s.needs, options_text(s));
  }
  text += "\nmodels\n";
  for (const ModelEntry& m : model_registry()) {
    text += fmt::format("  {:<12} {}\n{:15}states: {}; parameters: {}{}{}\n", m.name, m.energy, "",
                        m.state_kinds, m.parameters, m.gradient ? "" : "; no gradient",
                        m.trainable ? "; can be trained" : "");
  }
  return text;
}

std::string run_sample(Options& options) {
  if (options.flag("list")) {
    return options.flag("json") ? registry_json().dump(2) + "\n" : registry_text();
  }
  const torch::Device device = device_of(options);
  find_sampler(options.text("sampler"));
  const RunPlan plan = plan_of(options);
  OutputDirectory out(options);
  const std::shared_ptr<EnergyModel> model = model_of(options, device);
  const std::unique_ptr<Sampler> sampler = sampler_of(options, *model);
  const bool saved = options.text("init") != "random" && options.text("init") != "data";
  torch::Tensor x;
  if (saved) x = saved_states(options, model->space());
  check_memory(options, *model, plan, device);
  if (!saved) x = fresh_states(options, model->space(), device);
  x = x.to(device);
  const int64_t chains = options.integer("chains");

  const torch::Tensor ids =
      torch::arange(chains, torch::TensorOptions(torch::kInt64).device(device));
  ChainState state = sampler->init(*model, x, ids);
  StepParams params = sampler->params(static_cast<uint64_t>(options.integer("seed")), device);
  Json summary;
  out.fill(options, [&] {
    Recorder recorder(model->space(), plan.steps / plan.thin, chains, !options.flag("no-samples"));
    ProgressObserver progress(plan, options.flag("quiet"));
    const RunResult result =
        run(*model, *sampler, state, params, plan, {&recorder, &progress}, interrupted);
    summary = summary_json(options, *model, plan, result, recorder, device);
    if (!options.flag("no-samples")) {
      write_pt(out.file("samples.pt"),
               PtValue{PtDict{{"samples", PtValue{recorder.samples()}},
                              {"energy", PtValue{recorder.energy().to(torch::kFloat32)}}}});
    }
    write_file(out.file("summary.json"), summary.dump(2) + "\n");
    if (interrupted()) {
      throw Interrupted(fmt::format("{} of {} steps were made; their draws are in {}", result.steps,
                                    plan.steps, out.path().string()));
    }
  });
  return options.flag("json") ? summary.dump(2) + "\n" : summary_text(summary, out);
}

}  // namespace

Command sample_command() {
  Command command{.name = "sample",
                  .summary = "draw samples from any model with any sampler",
                  .run = run_sample};
  append(command.options, model_options());
  append(command.options, sampler_options());
  append(command.options,
         {{.name = "chains",
           .type = ValueType::kInteger,
           .unit = "B",
           .help = "parallel chains",
           .initial = int64_t{100},
           .minimum = 1,
           .maximum = kLargestStep},
          {.name = "burn-in",
           .type = ValueType::kInteger,
           .unit = "N",
           .help = "steps before those that count",
           .initial = int64_t{0},
           .minimum = 0},
          {.name = "steps",
           .type = ValueType::kInteger,
           .unit = "N",
           .help = "steps; required",
           .minimum = 0},
          {.name = "thin",
           .type = ValueType::kInteger,
           .unit = "N",
           .help = "steps a draw",
           .initial = int64_t{1},
           .minimum = 1},
          {.name = "init",
           .unit = "STATES",
           .help = "random, data (training images of --dataset) or a .pt file of states [B, D]",
           .initial = "random"},
          {.name = "no-samples",
           .type = ValueType::kSwitch,
           .help = "write the summary only",
           .initial = false},
          {.name = "list",
           .type = ValueType::kSwitch,
           .help = "print the samplers and models, and stop",
           .initial = false,
           .stored = false}});
  append(command.options, data_options());
  append(command.options, {{.name = "out",
                            .type = ValueType::kPath,
                            .unit = "DIR",
                            .help = "directory of the run; required",
                            .stored = false},
                           overwrite_option()});
  return command;
}

}  // namespace isinglass
