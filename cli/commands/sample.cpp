// isinglass sample: draws from a model by a sampler. Writes samples.pt (`samples` [draws, B, D],
// `energy` float32 [draws, B]) and summary.json; with --netcdf also samples.nc
// (lab/run/inference_data.h).
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/commands.h"
#include "lab/run/inference_data.h"
#include "cli/terminal/interrupt.h"
#include "cli/commands/listing.h"
#include "lab/run/memory.h"
#include "cli/output_directory.h"
#include "cli/terminal/progress.h"
#include "engine/observers/recorder.h"
#include "cli/sample_summary.h"
#include "cli/sampling.h"
#include "cli/options/shared_options.h"
#include "engine/observers/statistic.h"
#include "engine/run/run.h"
#include "io/error.h"
#include "io/files.h"
#include "io/netcdf/netcdf_file.h"
#include "io/pt/pt_file.h"
#include "models/instances/instances.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

class ProgressObserver : public Observer {
 public:
  ProgressObserver(const RunPlan& plan, bool quiet)
      : burn_in_(plan.burn_in), progress_("sample", plan.burn_in + plan.steps, quiet) {}

  void on_step(int64_t step, bool burn_in, const ChainState&) override {
    progress_.update(burn_in ? step + 1 : burn_in_ + step + 1, burn_in ? "burn-in" : "");
  }
  bool every_step(bool) const override { return false; }

 private:
  int64_t burn_in_;
  Progress progress_;
};

// Draws that would take more than half of the memory go to a file in the run's directory.
std::filesystem::path draws_file(const Recorder::Shape& shape, const OutputDirectory& out,
                                 bool netcdf) {
  if (2 * shape.bytes() <= available_memory(torch::kCPU)) return {};
  const double room = static_cast<double>(std::filesystem::space(out.path()).available);
  require((netcdf ? 3 : 2) * shape.bytes() <= room,
          "the draws take {:.1f} GiB, and as much again while {} written; {} has {:.1f} "
          "GiB left (fewer --steps, a larger --thin or --no-samples)",
          shape.bytes() / kGibibyte,
          netcdf ? "each of samples.pt and samples.nc is" : "samples.pt is", out.path().string(),
          room / kGibibyte);
  return out.file("draws.tmp");
}

std::string run_sample(Options& options) {
  if (options.flag("list")) {
    return options.flag("json") ? registry_json().dump(2) + "\n" : registry_text();
  }
  const torch::Device device = device_of(options);
  find_sampler(options.text("sampler"));
  const RunPlan plan = plan_of(options);
  const bool keep = !options.flag("no-samples"), netcdf = options.flag("netcdf");
  if (netcdf) {
    require(keep, "--netcdf and --no-samples exclude each other");
    require(plan.steps > 0, "--netcdf needs draws; --steps is 0");
    require_netcdf();
  }
  OutputDirectory out(options);
  Sampling sampling(options, device);
  Json summary;
  std::string complaint;
  out.fill(options, [&] {
    Recorder recorder =
        sampling.recorder(keep, keep ? draws_file(sampling.draws(), out, netcdf) : "");
    ProgressObserver progress(plan, options.flag("quiet"));
    std::vector<Observer*> observers = {&progress};
    std::optional<StepRecorder> moves;
    if (netcdf) observers.push_back(&moves.emplace(plan));
    const RunResult& result = sampling.run(recorder, observers);
    if (keep) {
      const std::filesystem::path file = out.file("samples.pt");
      write_pt(file, PtValue{PtDict{{"samples", PtValue{recorder.samples()}},
                                    {"energy", PtValue{recorder.energy().to(torch::kFloat32)}}}});
      out.keep(fmt::format("the draws are kept in {}", file.string()));
    }
    summary = sampling.summary(recorder);
    complaint = sampling.complaint();
    if (netcdf && recorder.made() > 0) {
      write_inference_data(out.file("samples.nc"), recorder, *moves, summary);
    }
    const NamedTensors learned = sampling.learned();
    const torch::Tensor solution = sampling.solution();
    if (solution.defined()) write_pt(out.file("best.pt"), PtValue{solution});
    if (!learned.empty()) write_named_tensors(out.file("learned.pt"), learned);
    write_file(out.file("summary.json"), summary.dump(2) + "\n");
    if (interrupted()) {
      throw Interrupted(fmt::format("{} of {} steps were made; their draws are in {}", result.steps,
                                    plan.steps, out.path().string()));
    }
  });
  if (!complaint.empty() && !options.flag("quiet")) {
    fmt::print(stderr, "isinglass: warning: {}: {}\n", options.text("sampler"), complaint);
  }
  return options.flag("json") ? summary.dump(2) + "\n" : summary_text(summary, out.path().string());
}

}  // namespace

Command sample_command() {
  Command command{.name = "sample",
                  .summary = "draw samples from any model with any sampler",
                  .run = run_sample};
  append(command.options, model_options());
  append(command.options,
         {gradient_model_option(), gradient_precision_option(), cuda_graph_option()});
  append(command.options,
         {{.name = "instance",
           .unit = "NAME:KEY=X,…",
           .help = "a standard target by name in place of --model and --weights: " +
                   instance_names()}});
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
           .help = "random, data (training images of --dataset), instance (where the target's "
                   "paper starts) or "
                   "a .pt file of states [B, D]",
           .initial = "random",
           .names = {"random", "data", "instance"}},
          {.name = "anneal",
           .unit = "T0,T1",
           .help = "cool in burn-in: its steps have the target exp(-U/T), T falling from T0 to T1 "
                   "by a constant factor; the steps after it have T1"},
          {.name = "optimum",
           .type = ValueType::kReal,
           .unit = "V",
           .help = "known optimum of maxcut, maxclique or mis, for the ratio in the summary "
                   "(default: what a comment in the graph's file names)"},
          {.name = "statistic",
           .unit = "NAME",
           .help = "what ESS and R-hat are of; hamming: the distance to a fixed random state",
           .initial = "energy",
           .choices = statistic_names()},
          {.name = "no-samples",
           .type = ValueType::kSwitch,
           .help = "write the summary only",
           .initial = false},
          {.name = "netcdf",
           .type = ValueType::kSwitch,
           .help = "write the draws to DIR/samples.nc, too: NetCDF in the layout of ArviZ",
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
