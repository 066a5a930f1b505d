// isinglass sample: draws from a model with a sampler. It writes samples.pt, with `samples` [draws,
// B, D] and `energy` float32 [draws, B], and summary.json, with --netcdf also samples.nc
// (lab/run/inference_data.h), and with --inpaint also inpainted.png (lab/run/inpainting.h). During
// the run it writes the files from which --resume continues (lab/run/saved_sampling.h).
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/listing.h"
#include "cli/job.h"
#include "cli/output_directory.h"
#include "cli/tensorboard.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/summaries.h"
#include "engine/registry.h"
#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "io/netcdf/netcdf_file.h"
#include "io/pt/pt_file.h"
#include "lab/run/inference_data.h"
#include "lab/run/memory.h"
#include "lab/run/sampling.h"
#include "lab/run/saved_sampling.h"
#include "lab/run/summary.h"
#include "lab/spec/field.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

class ProgressObserver : public Observer {
 public:
  ProgressObserver(const RunPlan& plan, bool quiet, const RunProgress& made)
      : burn_in_(plan.burn_in),
        progress_("sample", plan.burn_in + plan.steps, quiet, made.burn_in + made.steps) {}

  void on_step(int64_t step, bool burn_in, const ChainState&) override {
    progress_.update(burn_in ? step + 1 : burn_in_ + step + 1, burn_in ? "burn-in" : "");
  }
  bool every_step(bool) const override { return false; }

 private:
  int64_t burn_in_;
  Progress progress_;
};

// Returns the file for draws that would take more than half of the memory, in the run's directory;
// empty if the draws fit. Throws Error if the disk has no room for them.
std::filesystem::path draws_file(const Recorder::Shape& shape, const OutputDirectory& out,
                                 bool netcdf) {
  if (2 * shape.bytes() <= available_memory(torch::kCPU)) return {};
  const double room = static_cast<double>(std::filesystem::space(out.path()).available);
  require((netcdf ? 4 : 3) * shape.bytes() <= room,
          "the draws take {:.1f} GiB on disk, and each of {} and the files that --resume reads "
          "takes as much again, but {} has only {:.1f} GiB left; use fewer --steps, a larger "
          "--thin or --no-samples",
          shape.bytes() / kGibibyte, netcdf ? "samples.pt, samples.nc" : "samples.pt",
          out.path().string(), room / kGibibyte);
  return out.file("draws.tmp");
}

// Writes the results and returns the summary. moves: the step statistics for samples.nc.
Json write_results(const Sampling& sampling, const Recorder& recorder,
                   const std::optional<StepRecorder>& moves, OutputDirectory& out) {
  if (!sampling.spec().no_samples) {
    const std::filesystem::path file = out.file("samples.pt");
    write_pt(file, PtValue{PtDict{{"samples", PtValue{recorder.samples()}},
                                  {"energy", PtValue{recorder.energy()}}}});
    out.keep(fmt::format("the draws are kept in {}", file.string()));
  }
  if (sampling.inpainting() && recorder.made() > 0 && !sampling.spec().no_samples) {
    write_file(out.file("inpainted.png"), sampling.inpainting()->picture(recorder.samples()));
  }
  const NamedTensors learned = sampling.learned();
  const torch::Tensor solution = sampling.solution();
  if (solution.defined()) write_pt(out.file("best.pt"), PtValue{solution});
  const torch::Tensor rungs = sampling.rung_history();
  if (rungs.defined()) write_pt(out.file("rungs.pt"), PtValue{rungs});
  if (!learned.empty()) write_named_tensors(out.file("learned.pt"), learned);
  const Json summary = sampling.summary(recorder);
  write_file(out.file("summary.json"), text_of(summary, 2) + "\n");
  if (moves && recorder.made() > 0) {
    write_inference_data(out.file("samples.nc"), recorder, *moves, summary);
  }
  return summary;
}

// Returns the sentence on what an interrupted run leaves in the directory.
std::string what_is_kept(int64_t draws, bool no_samples, const Json& summary,
                         const std::string& directory) {
  std::string kept;
  if (draws > 0 && !no_samples) kept += fmt::format("; their draws are in {}", directory);
  if (summary.contains("best") && summary["best"].contains("step")) {
    kept += fmt::format("; the best solution of burn-in and of these steps, {}, is in {}",
                        summary["best"]["value"].get<double>(), directory + "/best.pt");
  }
  return kept.empty() ? fmt::format("; their summary is in {}", directory) : kept;
}

// Returns true if --resume, or a restarted job, finds a checkpoint. Otherwise the run was killed
// before its first checkpoint and starts over. Throws Error if there is nothing left to do.
bool resumes(const Options& options, const OutputDirectory& out) {
  if (!options.has("resume") && !OutputDirectory::begun_before(options)) return false;
  if (SavedSampling::exists(out.path())) return true;
  const std::filesystem::path file = out.file("summary.json");
  if (!std::filesystem::exists(file)) return false;
  const Json summary = Json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  const bool finished = summary.is_object() && summary.contains("steps_done") &&
                        summary["steps_done"] == summary["steps"];
  require(!finished, "--resume {} has nothing to do, because that run is finished",
          out.path().string());
  return false;
}

std::string run_sample(const Options& options) {
  if (options.flag("list")) {
    return options.flag("json") ? text_of(registry_json(), 2) + "\n" : registry_text();
  }
  const SampleSpec spec = spec_of<SampleSpec>(options.said());
  const Context context = context_of(options);
  if (options.has("sampler")) find_sampler(options.text("sampler"));
  const bool keep = !spec.no_samples;
  if (spec.netcdf) {
    require(keep, "--netcdf and --no-samples exclude each other");
    require(plan_of(spec).steps > 0, "--netcdf needs draws, but --steps is 0");
    require_netcdf();
  }
  OutputDirectory out(options);
  const bool resumed = context.ranks->any(is_rank0() && resumes(options, out));
  Sampling sampling(spec, context);
  const RunPlan plan = plan_of(sampling.spec());
  sampling.watch_mixing();
  Json summary;
  std::string sampling_warning;
  out.fill(options.of_run(values_of(sampling.spec())), [&] {
    Recorder recorder = sampling.recorder(
        keep, keep && is_rank0() ? draws_file(sampling.draws(), out, spec.netcdf) : "");
    std::optional<StepRecorder> moves;
    if (spec.netcdf) moves.emplace(plan, *context.ranks);
    const std::string again =
        fmt::format("isinglass sample --resume {} continues the run", out.path().string());
    SavedSampling saved(
        sampling, recorder, moves ? &*moves : nullptr, out.path(), options.real("checkpoint-every"),
        *context.ranks, [&](const RunProgress& made) {
          out.keep(fmt::format("{} of {} steps are saved; {}", made.burn_in + made.steps,
                               plan.burn_in + plan.steps, again));
        });
    if (resumed) saved.restore();
    ProgressObserver progress(plan, quiet(options), sampling.made());
    std::vector<Observer*> observers = {&progress};
    if (moves) observers.push_back(&*moves);
    const std::unique_ptr<EventFile> events = event_file(options, sampling.made().steps + 1);
    std::optional<DrawsOnBoard> board;
    if (options.has("tensorboard")) {
      const ImageSize image = *sampling.spec().model.image;
      observers.push_back(&board.emplace(events.get(), plan, image, *context.ranks));
    }
    const RunResult& result = sampling.run(recorder, observers, &saved);
    const bool stopped = context.ranks->any(context.to_stop());
    if (is_rank0()) summary = write_results(sampling, recorder, moves, out);
    if (events) {
      put_numbers(*events, result.steps, summary,
                  {"acceptance", "hops", "rhat", "ess", "adapted", "tempering"});
    }
    sampling_warning = sampling.warning();
    if (stopped) {
      const bool kept = context.ranks->any(is_rank0() && SavedSampling::exists(out.path()));
      throw Interrupted(
          fmt::format("{} of {} steps were made{}; {}", result.steps, plan.steps,
                      what_is_kept(recorder.made(), spec.no_samples, summary, out.path().string()),
                      kept ? again
                           : fmt::format("isinglass sample --resume {} repeats the burn-in",
                                         out.path().string())));
    }
    if (is_rank0()) saved.remove();
  });
  if (!is_rank0()) return "";
  std::vector<std::string> warnings = chain_warnings(summary);
  warnings.insert(warnings.begin(), sampling_warning);
  warnings.push_back(optimum_warning(summary));
  for (const std::string& warning : warnings) {
    if (warning.empty() || quiet(options)) continue;
    fmt::print(stderr, "isinglass: warning: {}: {}\n", sampling.spec().sampler.name,
               spell_options(warning, "--"));
  }
  return options.flag("json") ? text_of(summary, 2) + "\n"
                              : summary_text(summary, out.path().string());
}

}  // namespace

Command sample_command() {
  Command command{.name = "sample",
                  .summary = "draw samples from any model with any sampler",
                  .options = options_of<SampleSpec>(),
                  .run = run_sample,
                  .by_ranks = true};
  append(command.options, {{.name = "list",
                            .type = ValueType::kSwitch,
                            .help = "print the samplers and models, and stop",
                            .initial = false,
                            .stored = false},
                           run_directory_option("sample"),
                           resume_option("continue the run of this directory"),
                           {.name = "checkpoint-every",
                            .type = ValueType::kReal,
                            .unit = "SECONDS",
                            .help = "time between saves of the draws and chains for --resume; 0: "
                                    "only when the run is interrupted",
                            .initial = 60.0,
                            .minimum = 0,
                            .stored = false,
                            .topic = Topic::kOutput},
                           overwrite_option(),
                           tensorboard_option()});
  return command;
}

}  // namespace isinglass
