// isinglass sample: draws from a model by a sampler. Writes samples.pt (`samples` [draws, B, D],
// `energy` float32 [draws, B]) and summary.json.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/listing.h"
#include "cli/memory.h"
#include "cli/output_directory.h"
#include "cli/progress.h"
#include "cli/recorder.h"
#include "cli/sample_summary.h"
#include "cli/shared_options.h"
#include "engine/run.h"
#include "io/error.h"
#include "io/files.h"
#include "io/pt_file.h"
#include "kernels/philox.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLargestStep = 4294967295.0;  // steps are numbered by 32 bits

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

// Training images drawn with the seed, one a chain; binary, or of grey levels from 0 to 1.
torch::Tensor data_states(Options& options, const StateSpace& space, int64_t chains) {
  require(options.has("dataset"), "--init data needs --dataset NAME");
  const Dataset data = dataset_of(options);
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

// --init random or data.
torch::Tensor fresh_states(Options& options, const StateSpace& space, torch::Device device) {
  const int64_t chains = options.integer("chains");
  if (options.text("init") == "data") {
    const torch::Tensor x = data_states(options, space, chains);
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
  const double draws = static_cast<double>(plan.steps / plan.thin);
  require_memory(draws * chains * 16, torch::kCPU,
                 fmt::format("--chains {} for {} draws", options.integer("chains"), draws));
}

// Draws that would take more than half of the memory go to a file in the run's directory.
std::filesystem::path draws_file(const Recorder::Shape& shape, const OutputDirectory& out) {
  if (2 * shape.bytes() <= available_memory(torch::kCPU)) return {};
  const double room = static_cast<double>(std::filesystem::space(out.path()).available);
  require(2 * shape.bytes() <= room,
          "the draws take {:.1f} GiB, and as much again while samples.pt is written; {} has {:.1f} "
          "GiB left (fewer --steps, a larger --thin or --no-samples)",
          shape.bytes() / kGibibyte, out.path().string(), room / kGibibyte);
  return out.file("draws.tmp");
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

std::string run_sample(Options& options) {
  if (options.flag("list")) {
    return options.flag("json") ? registry_json().dump(2) + "\n" : registry_text();
  }
  const torch::Device device = device_of(options);
  find_sampler(options.text("sampler"));
  const RunPlan plan = plan_of(options);
  OutputDirectory out(options);
  const std::shared_ptr<EnergyModel> model = sampled_model_of(options, device);
  if (options.has("warm-start")) read_warm_start(options);
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
  if (options.has("warm-start")) restore_learned(options, *sampler, state);
  Json summary;
  out.fill(options, [&] {
    const bool keep = !options.flag("no-samples");
    const Recorder::Shape shape{plan.steps / plan.thin, chains, state.sites(),
                                state.x.scalar_type()};
    Recorder recorder(shape, keep, keep ? draws_file(shape, out) : "");
    ProgressObserver progress(plan, options.flag("quiet"));
    const RunResult result =
        run(*model, *sampler, state, params, plan, {&recorder, &progress}, interrupted);
    summary = summary_json(options, *model, *sampler, params, plan, result, recorder);
    if (keep) {
      write_pt(out.file("samples.pt"),
               PtValue{PtDict{{"samples", PtValue{recorder.samples()}},
                              {"energy", PtValue{recorder.energy().to(torch::kFloat32)}}}});
    }
    const NamedTensors learned = sampler->learned(state);
    if (!learned.empty()) write_named_tensors(out.file("learned.pt"), learned);
    write_file(out.file("summary.json"), summary.dump(2) + "\n");
    if (interrupted()) {
      throw Interrupted(fmt::format("{} of {} steps were made; their draws are in {}", result.steps,
                                    plan.steps, out.path().string()));
    }
  });
  return options.flag("json") ? summary.dump(2) + "\n" : summary_text(summary, out.path().string());
}

}  // namespace

Command sample_command() {
  Command command{.name = "sample",
                  .summary = "draw samples from any model with any sampler",
                  .run = run_sample};
  append(command.options, model_options());
  append(command.options, {gradient_model_option()});
  append(command.options, sampler_options());
  append(command.options,
         {{.name = "warm-start",
           .type = ValueType::kPath,
           .unit = "SUMMARY",
           .help = "summary.json of an earlier run: start with what it adapted and learned"},
          {.name = "chains",
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
