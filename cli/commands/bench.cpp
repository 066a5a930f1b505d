// isinglass bench: measures the time of every stage and of the whole step, next to the machine's
// bounds (stages.h). With --out it writes bench.json, which --compare of a later run reads.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/output_directory.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "engine/registry.h"
#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "lab/bench/profile.h"
#include "lab/bench/report.h"
#include "lab/bench/subject.h"
#include "lab/spec/configuration.h"
#include "lab/spec/field.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

// Writes a trace of one call of the last stage that is not a bound, which is the last of --stages
// or the training iteration.
void write_stage_profile(const std::filesystem::path& file, const std::vector<Stage>& stages,
                         torch::Device device) {
  const auto last = std::find_if(stages.rbegin(), stages.rend(),
                                 [](const Stage& stage) { return !is_bound(stage.name); });
  require(last != stages.rend(),
          "--profile needs a stage to trace, but --stages names only bounds of the machine");
  setenv("KINETO_LOG_LEVEL", "99", 0);  // otherwise the profiler reports a missing GPU on stderr
  write_profile(file, device, [&] { last->seconds(1); });
}

// Returns all stored options of the run.
Json settings_json(const Options& options, const BenchSpec& spec) {
  const OptionValues values = options.of_run(values_of(spec));
  Json settings = Json::object();
  for (const Option& option : options.command().options) {
    const auto value = values.find(option.name);
    if (value == values.end() || !option.stored) continue;
    std::visit([&](const auto& v) { settings[option.name] = v; }, value->second);
  }
  return settings;
}

// Returns the command that repeats the run.
std::string command_line(const Json& settings) {
  std::string line = "isinglass bench";
  for (const auto& [name, value] : settings.items()) {
    line += value.is_boolean()  ? fmt::format(" --{}={}", name, value.get<bool>())
            : value.is_string() ? fmt::format(" --{} {}", name, value.get<std::string>())
                                : fmt::format(" --{} {}", name, text_of(value));
  }
  return line;
}

std::vector<Measurement> measured(const Options& options, const BenchSpec& spec,
                                  const std::vector<Stage>& stages) {
  const MeasurementPlan plan{spec.warm_up, spec.repeats};
  Progress progress("bench", (plan.warm_up + plan.repeats) * static_cast<int64_t>(stages.size()),
                    options.flag("quiet"));
  return measure(stages, plan, [&](int64_t made) {
    if (interrupted()) throw Interrupted("nothing was written");
    progress.update(made);
  });
}

std::string run_bench(const Options& options) {
  const torch::Device device = device_of(options.text("device"));
  find_sampler(options.text("sampler"));
  const BenchSpec given = spec_of<BenchSpec>(options.said());
  check_stages(given);
  require(!options.flag("profile") || options.has("out"),
          "--profile needs --out, the directory to which the trace is written");
  std::optional<OutputDirectory> out;
  if (options.has("out")) out.emplace(options);
  Json before;
  if (options.has("compare")) before = read_bench(options.path("compare"));

  const Bench bench(given, device, interrupted);
  Json result;
  const auto work = [&] {
    const std::vector<Stage> stages = bench.stages();
    const Json settings = settings_json(options, bench.spec());
    result = bench_json(bench.spec(), settings, command_line(settings),
                        measured(options, bench.spec(), stages), device);
    if (options.flag("profile")) {
      write_stage_profile(out->file("profile.json"), stages, device);
    }
    if (out) write_file(out->file("bench.json"), text_of(result, 2) + "\n");
  };
  out ? out->fill(options.of_run(values_of(bench.spec())), work) : work();
  if (options.has("compare")) {
    result["comparison"] = compare_bench(result, before);
    result["comparison"]["file"] = options.text("compare");
  }
  return options.flag("json") ? text_of(result, 2) + "\n" : bench_text(result);
}

}  // namespace

Command bench_command() {
  Command command{
      .name = "bench",
      .summary =
          "time the stages of a model and a sampler, and compare them with the machine's bounds",
      .options = options_of<BenchSpec>(),
      .run = run_bench};
  append(command.options,
         {{.name = "profile",
           .type = ValueType::kSwitch,
           .help = "also write profile.json to --out: a trace of one more call of the last stage, "
                   "for chrome://tracing",
           .initial = false,
           .stored = false,
           .topic = Topic::kOutput},
          {.name = "compare",
           .type = ValueType::kPath,
           .unit = "FILE",
           .help = "bench.json, or --json output, of another run "
                   "with which the time of every stage is compared",
           .stored = false,
           .topic = Topic::kOutput},
          out_option("directory to write bench.json to (default: none)"),
          overwrite_option()});
  return command;
}

}  // namespace isinglass
