// isinglass train: trains a model by persistent contrastive divergence, score matching or
// classification on a data set, into a run directory (train/run_directory.h). --resume DIR
// continues a run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/job.h"
#include "cli/output_directory.h"
#include "cli/tensorboard.h"
#include "cli/terminal/progress.h"
#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "lab/presets/presets.h"
#include "lab/run/training.h"
#include "lab/spec/field.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

// Shows the progress of iterations. From the first checkpoint on, the directory is worth keeping.
class TrainProgress : public TrainObserver {
 public:
  TrainProgress(OutputDirectory& out, bool quiet) : out_(out), quiet_(quiet) {}

  void begin(int64_t iteration, const Options& options) {
    iterations_ = options.integer("iters");
    first_ = iteration + 1;
    progress_.emplace("train", iterations_, quiet_, iteration);
    events_ = event_file(options, iteration + 1);
  }
  void end() { progress_.reset(); }

  // This is also called after the recovery from a divergence.
  void on_start(int64_t iteration) override {
    if (events_) events_->start_again(iteration + 1);
    if (!progress_) return;
    progress_.emplace("train", iterations_, quiet_, iteration);
    first_.reset();  // The time of the whole run is no longer known.
    if (!quiet_) {
      fmt::print(stderr,
                 "isinglass: training diverged and continues from iteration {}; {} says why\n",
                 iteration, out_.file("log.txt").string());
    }
  }
  void on_iteration(const Metrics& metrics) override {
    last_ = metrics;
    if (events_) events_->scalars(metrics.iteration, metrics.values);
    say_expected_time(metrics.iteration);
    const auto loss = metrics.find("loss");
    progress_->update(metrics.iteration,
                      loss ? fmt::format("loss {:.4g}", *loss)
                           : fmt::format("U(data) - U(chains) {:+.3f}, acceptance {:.2f}",
                                         metrics.find("difference").value_or(NAN),
                                         metrics.find("acceptance").value_or(NAN)));
  }
  void on_energies(int64_t iteration, const NamedTensors& energies) override {
    if (!events_) return;
    for (const auto& [name, energy] : energies) {
      const double* first = energy.const_data_ptr<double>();
      events_->histogram(iteration, "energy/" + name, {first, first + energy.numel()});
    }
  }
  void on_checkpoint(const std::filesystem::path& file) override {
    const fs::path picture = (out_.file("samples") / file.stem()).concat(".png");
    if (events_ && fs::exists(picture)) {
      events_->picture(std::stoll(file.stem().string()), "samples", read_file(picture));
    }
    out_.keep(fmt::format("{} is kept; isinglass train --resume {} continues the run",
                          file.string(), out_.path().string()));
  }

  void on_warning(const std::string& message) override {
    if (!quiet_) std::fputs(fmt::format("isinglass: warning: {}\n", message).c_str(), stderr);
  }

  const std::optional<Metrics>& last() const { return last_; }

 private:
  // Says once how long the iterations will take, after the third one. The first one is not timed,
  // because it also allocates memory.
  void say_expected_time(int64_t iteration) {
    if (quiet_ || !first_ || iteration > *first_ + 2) return;
    const auto now = std::chrono::steady_clock::now();
    if (iteration == *first_) begun_ = now;
    if (iteration < *first_ + 2) return;
    const double each = std::chrono::duration<double>(now - begun_).count() / 2;
    const double seconds = each * static_cast<double>(iterations_ - *first_ + 1);
    if (seconds < kWorthSaying) return;
    progress_->interrupt(fmt::format("isinglass: {} iterations take about {} at this speed{}\n",
                                     iterations_ - *first_ + 1, long_duration(seconds),
                                     seconds < kLong ? ""
                                                     : "; --preset small is a run of minutes, and "
                                                       "--max-time ends a run early"));
  }

  static constexpr double kWorthSaying = 60, kLong = 7200;  // [s]

  OutputDirectory& out_;
  int64_t iterations_ = 0;
  std::optional<int64_t> first_;  // Is the iteration at which the clock starts.
  std::chrono::steady_clock::time_point begun_ = {};
  bool quiet_;
  std::optional<Progress> progress_;
  std::optional<Metrics> last_;
  std::unique_ptr<EventFile> events_;
};

// Returns true if --resume, or a restarted job, finds finished iterations. Otherwise this is a new
// run or one that was killed before its first checkpoint.
bool resumes(const Options& options) {
  const bool again = OutputDirectory::begun_before(options);
  if (!options.has("resume") && !again) return false;
  const fs::path directory = options.path(again ? "out" : "resume");
  if (options.has("out")) {
    const fs::path out = options.path("out");
    require(fs::weakly_canonical(out) == fs::weakly_canonical(directory),
            "--out is {}, but --resume writes to {}", out.string(), directory.string());
  }
  const fs::path newest = newest_checkpoint(directory);
  if (newest.empty()) return false;
  const int64_t done = std::strtoll(newest.stem().c_str(), nullptr, 10);
  require(options.integer("iters") >= done,
          "--iters is {}, but the run in {} has already made {} iterations",
          options.integer("iters"), directory.string(), done);
  return true;
}

// Adds the end of --max-time, counted from now, to the reasons to stop.
Context with_deadline(Context context, const Options& options) {
  if (!options.has("max-time")) return context;
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(options.real("max-time"));
  context.stop = [stop = context.stop, end] {
    return (stop && stop()) || std::chrono::steady_clock::now() >= end;
  };
  return context;
}

std::string result_text(const Options& options, const Training& training, const TrainResult& result,
                        const std::optional<Metrics>& last, const OutputDirectory& out) {
  const TrainSpec& spec = training.spec();
  if (options.flag("json")) {
    nlohmann::ordered_json json = {
        {"model", spec.model.name},      {"dataset", spec.data.name},
        {"iteration", result.iteration}, {"recoveries", result.recoveries},
        {"skipped", result.skipped},     {"interrupted", result.interrupted},
        {"notes", training.notes()},     {"out", out.path().string()}};
    if (last) json["metrics"] = nlohmann::ordered_json::parse(json_line(*last));
    return text_of(json, 2) + "\n";
  }
  const std::string skipped = result.skipped == 0
                                  ? ""
                                  : fmt::format(" ({} of them made no update; {} says why)",
                                                result.skipped, out.file("log.txt").string());
  const std::string recovered = result.recoveries == 0
                                    ? ""
                                    : fmt::format(" (it diverged {} times; {} says when)",
                                                  result.recoveries, out.file("log.txt").string());
  const std::string early =
      result.interrupted
          ? fmt::format(
                " of {}, until --max-time ended the run; isinglass train --resume {} "
                "continues it",
                options.integer("iters"), out.path().string())
          : "";
  return fmt::format(
      "{} was trained on {} for {} iterations{}{}{}; its averaged parameters are in {}\n",
      spec.model.name, spec.data.name, result.iteration, early, skipped, recovered,
      out.file("ema.pt").string());
}

// Says what the data were taken for, on the terminal and in log.txt.
void say_notes(const Training& training, const OutputDirectory& out, bool quiet) {
  training.log_notes(out.path());
  if (quiet) return;
  for (const std::string& note : training.notes()) {
    std::fputs(fmt::format("isinglass: {}\n", spell_options(note, "--")).c_str(), stderr);
  }
}

std::string run_train(const Options& options) {
  const Context context = with_deadline(context_of(options), options);
  const bool resumed = context.ranks->any(is_rank0() && resumes(options));
  OutputDirectory out(options);
  TrainProgress progress(out, quiet(options));
  Training training(spec_of<TrainSpec>(options.said()), context, &progress, resumed);
  Trainer& trainer = training.trainer();
  TrainResult result;
  out.fill(options.of_run(values_of(training.spec())), [&] {
    resumed ? trainer.resume(out.path()) : trainer.start(out.path());
    if (is_rank0()) say_notes(training, out, quiet(options));
    progress.begin(trainer.iteration(), options);
    result = trainer.run();
    progress.end();
    if (result.interrupted && !(options.has("max-time") && !context_of(options).stop())) {
      throw Interrupted(fmt::format(
          "the run was saved after iteration {}; isinglass train --resume {} continues the run",
          result.iteration, out.path().string()));
    }
  });
  if (!is_rank0()) return "";
  return result_text(options, training, result, progress.last(), out);
}

Option max_time_option() {
  return {.name = "max-time",
          .type = ValueType::kReal,
          .unit = "SECONDS",
          .help =
              "end the run after the iteration in which this time is over, with a checkpoint "
              "from which `resume` continues (default: no limit)",
          .minimum = 0,
          .above_minimum = true,
          .stored = false,
          .topic = Topic::kTraining};
}

Option preset_option() {
  return {
      .name = "preset",
      .unit = "NAME",
      .help = fmt::format(
          "settings that this command line does not give: {}; small takes minutes on two cores, "
          "and the others are the settings of the papers for binary images. Options of the "
          "preset's model or sampler do not apply to another one",
          fmt::join(preset_names(training_presets()), ", ")),
      .stored = false,
      .topic = Topic::kTraining};
}

}  // namespace

Command train_command() {
  Command command{
      .name = "train",
      .summary = "train a model by contrastive divergence, score matching or classification",
      .options = options_of<TrainSpec>(),
      .run = run_train,
      .by_ranks = true,
      .presets = training_presets};
  append(command.options, {run_directory_option("train"), preset_option(),
                           resume_option("continue the run of this directory"), overwrite_option(),
                           tensorboard_option(), max_time_option()});
  return command;
}

}  // namespace isinglass
