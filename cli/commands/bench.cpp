// isinglass bench: the time of every stage by itself and of the whole step, beside the machine's
// bounds (stages.h). With --out it writes bench.json, which --compare of a later run reads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "cli/bench_report.h"
#include "lab/bench/stages.h"
#include "cli/commands/commands.h"
#include "cli/terminal/interrupt.h"
#include "lab/run/memory.h"
#include "cli/output_directory.h"
#include "lab/bench/profile.h"
#include "cli/terminal/progress.h"
#include "cli/options/shared_options.h"
#include "io/error.h"
#include "io/files.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

// --weights' model; without them a new one of --image, --channels and --hidden.
std::shared_ptr<EnergyModel> loaded_or_new(Options& options, torch::Device device) {
  const std::string& name = options.text("model");
  const bool continuous = continuous_sampler(options);
  if (options.has("weights") || !find_model(name).trainable()) {
    return model_of(options, device, continuous);
  }
  for (const char* flag : {"sites", "categories"}) {
    require(!options.has(flag), "--{} goes with --weights; the size of a new {} is --image", flag,
            name);
  }
  NewModelOptions shape;
  std::tie(shape.image_height, shape.image_width) = image_of(options);
  shape.channels = options.integer("channels");
  shape.hidden = options.integer("hidden");
  shape.continuous = continuous;
  const int64_t chains = options.integer("chains");
  require_memory(training_bytes(name, shape, chains, std::max(chains, TrainOptions().buffer)),
                 device,
                 fmt::format("--image {} --channels {} --hidden {} --chains {}",
                             options.text("image"), shape.channels, shape.hidden, chains));
  std::shared_ptr<EnergyModel> made =
      new_model(name, shape, static_cast<uint64_t>(options.integer("seed")));
  made->to(device);
  return made;
}

std::shared_ptr<EnergyModel> bench_model(Options& options, torch::Device device) {
  std::shared_ptr<EnergyModel> model = loaded_or_new(options, device);
  set_gradient_precision(options, *model);
  return model;
}

// Flags that shape a new model say nothing of one that is loaded.
void check_shape_flags(const Options& options) {
  for (const char* flag : {"channels", "hidden"}) {
    require(!options.has("weights") || !options.given(flag),
            "--{} is given, but --weights already says the model's size", flag);
  }
}

// An image of the model's sites: --image, or one row where the model is of another size.
std::pair<int64_t, int64_t> image_shape(const Options& options, int64_t sites) {
  const auto [height, width] = image_of(options);
  return height * width == sites ? std::pair{height, width} : std::pair{int64_t{1}, sites};
}

std::vector<std::string> split_at_commas(const std::string& list) {
  std::istringstream in(list);
  std::vector<std::string> names;
  for (std::string name; std::getline(in, name, ',');) names.push_back(name);
  return names;
}

// The stages of --stages, or all that the model and the sampler have.
std::vector<std::string> chosen_stages(const Options& options, const BenchSubject& subject) {
  std::vector<std::string> chosen;
  if (!options.has("stages")) {
    std::copy_if(stage_names().begin(), stage_names().end(), std::back_inserter(chosen),
                 [&](const std::string& name) { return !obstacle(name, subject); });
    return chosen;
  }
  for (const std::string& name : split_at_commas(options.text("stages"))) {
    const auto reason = obstacle(name, subject);
    require(!reason, "--stages {}: {} by {} has none: {}", name, options.text("model"),
            options.text("sampler"), reason.value_or(""));
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
  }
  return chosen;
}

void check_stage_names(const Options& options) {
  if (!options.has("stages")) return;
  const std::vector<std::string> names = split_at_commas(options.text("stages"));
  require(!names.empty(), "--stages names none of {}", fmt::join(stage_names(), ", "));
  for (const std::string& name : names) {
    require(std::find(stage_names().begin(), stage_names().end(), name) != stage_names().end(),
            "--stages: unknown stage '{}'; known: {}", name,
            fmt::join(nearest_first(name, stage_names()), ", "));
  }
}

// A trace of one call of the last stage that is not a bound: of --stages, or the training
// iteration.
void write_stage_profile(const std::filesystem::path& file, const std::vector<Stage>& stages,
                         torch::Device device) {
  const auto last = std::find_if(stages.rbegin(), stages.rend(),
                                 [](const Stage& stage) { return !is_bound(stage.name); });
  require(last != stages.rend(), "--profile: --stages names bounds of the machine only");
  write_profile(file, device, [&] { last->seconds(1); });
}

Json measured(const Options& options, const BenchSubject& subject,
              const std::vector<Stage>& stages) {
  const MeasurementPlan plan{options.integer("warm-up"), options.integer("repeats")};
  Progress progress("bench", (plan.warm_up + plan.repeats) * static_cast<int64_t>(stages.size()),
                    options.flag("quiet"));
  std::vector<Measurement> work = measure(stages, plan, [&](int64_t made) {
    if (interrupted()) throw Interrupted("nothing was written");
    progress.update(made);
  });
  const auto bounds = std::stable_partition(work.begin(), work.end(),
                                            [](const Measurement& m) { return !is_bound(m.name); });
  return bench_json(options, {work.begin(), bounds}, {bounds, work.end()}, subject.device);
}

std::string run_bench(Options& options) {
  const torch::Device device = device_of(options);
  find_sampler(options.text("sampler"));
  check_stage_names(options);
  check_shape_flags(options);
  require(!options.flag("profile") || options.has("out"),
          "--profile is written to --out, which is missing");
  std::optional<OutputDirectory> out;
  if (options.has("out")) out.emplace(options);
  Json before;
  if (options.has("compare")) before = read_bench(options.path("compare"));

  const std::shared_ptr<EnergyModel> model = bench_model(options, device);
  const std::unique_ptr<Sampler> sampler = sampler_of(options, *model);
  // The chains' own buffers, those of the annealed ones and those of the clocked stages.
  require_memory(3 * sampling_bytes(*model, options.integer("chains")), device,
                 fmt::format("--chains {}", options.integer("chains")));
  const auto [height, width] = image_shape(options, model->space().sites);
  const BenchSubject subject{.model = *model,
                             .sampler = *sampler,
                             .trained = find_model(options.text("model")).trainable()
                                            ? bench_model(options, device)
                                            : nullptr,
                             .device = device,
                             .chains = options.integer("chains"),
                             .burn_in = options.integer("burn-in"),
                             .image_height = height,
                             .image_width = width,
                             .steps_per_iteration = options.integer("steps-per-iter"),
                             .seed = static_cast<uint64_t>(options.integer("seed")),
                             .cuda_graph = cuda_graph_of(options, *model, *sampler, device),
                             .stop = interrupted};

  Json result;
  const auto work = [&] {
    const std::vector<Stage> stages = make_stages(chosen_stages(options, subject), subject);
    result = measured(options, subject, stages);
    if (options.flag("profile")) {
      write_stage_profile(out->file("profile.json"), stages, device);
    }
    if (out) write_file(out->file("bench.json"), result.dump(2) + "\n");
  };
  out ? out->fill(options, work) : work();
  if (options.has("compare")) {
    result["comparison"] = compare_bench(result, before);
    result["comparison"]["file"] = options.text("compare");
  }
  return options.flag("json") ? result.dump(2) + "\n" : bench_text(result);
}

Option count(const char* name, const char* help, int64_t initial, double minimum, double maximum) {
  return {.name = name,
          .type = ValueType::kInteger,
          .unit = "N",
          .help = help,
          .initial = initial,
          .minimum = minimum,
          .maximum = maximum};
}

}  // namespace

Command bench_command() {
  Command command{
      .name = "bench",
      .summary = "time every stage of a model and a sampler beside the machine's bounds",
      .run = run_bench};
  append(command.options, model_options());
  append(command.options, new_model_options());
  append(command.options, sampler_options("pafs"));
  append(command.options, {gradient_precision_option(), cuda_graph_option()});
  append(
      command.options,
      {count("chains", "parallel chains", 100, 1, 1e8),
       count("burn-in", "steps before anything is timed", 0, 0, 1e9),
       count("steps-per-iter", "sampler steps of a training iteration", 10, 1, 1e6),
       count("warm-up", "rounds that do not count", 2, 1, 100),
       count("repeats", "rounds: one measurement of every stage each", 7, 1, 500),
       {.name = "stages",
        .unit = "LIST",
        .help = fmt::format("what to time, with commas (default: all that there are of {})",
                            fmt::join(stage_names(), ", "))},
       {.name = "profile",
        .type = ValueType::kSwitch,
        .help = "also write profile.json to --out: a trace of one more call of the last stage, for "
                "chrome://tracing",
        .initial = false,
        .stored = false},
       {.name = "compare",
        .type = ValueType::kPath,
        .unit = "FILE",
        .help = "bench.json, or --json, of another run: print the ratio of every stage's time",
        .stored = false},
       {.name = "out",
        .type = ValueType::kPath,
        .unit = "DIR",
        .help = "directory to write bench.json to (default: none)",
        .stored = false},
       overwrite_option()});
  return command;
}

}  // namespace isinglass
