// isinglass evaluate: estimates log Z by annealed importance sampling or parallel tempering and the
// log-likelihoods of the data's splits, and gives a verdict on them. It writes ais.json and
// chains.pt (the final chains). With --inpaint it evaluates missing pixels and writes
// conditional.json (lab/evaluation/conditional_evaluation.h).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/job.h"
#include "cli/output_directory.h"
#include "cli/tensorboard.h"
#include "cli/terminal/progress.h"
#include "engine/registry.h"
#include "io/error.h"
#include "io/json.h"
#include "io/numbers.h"
#include "lab/evaluation/conditional_evaluation.h"
#include "lab/evaluation/likelihood_evaluation.h"
#include "lab/spec/field.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

std::string result_text(const LikelihoodEvaluation& evaluation, const OutputDirectory& out) {
  const BracketVerdict& verdict = evaluation.verdict();
  std::string text = evaluation.text();
  if (!evaluation.outcome().empty()) text += fmt::format("  {}\n", evaluation.outcome());
  for (const SplitLikelihood& split : evaluation.splits()) {
    text +=
        fmt::format("  {:<10} {}; {:.4f} bits per {}; independent {} {:.1f} nats, {:.4f} bits\n",
                    split.split, likelihood_text(split.nats, verdict), split.bits_per_dim,
                    split.points ? "dimension" : "pixel", split.points ? "normal sites" : "pixels",
                    split.independent, split.independent_bits_per_dim);
  }
  if (evaluation.splits().empty()) {
    text += fmt::format("  {}{}\n", verdict.word(), verdict.closed ? "" : ": " + verdict.reason);
  }
  text += fmt::format("  {}\n", evaluation.note());
  return text + fmt::format("  written to {}\n", out.path().string());
}

// Writes the curve over temperatures, and the other results at its end.
void show(EventFile& events, const LikelihoodEvaluation& evaluation,
          const nlohmann::ordered_json& json) {
  const LogZEstimate& estimate = evaluation.estimate();
  const std::vector<CurvePoint> curve = estimate.curve();
  for (const CurvePoint& point : curve) {
    events.scalars(point.temperatures, {{"log_z", point.log_z}});
  }
  const int64_t end = curve.back().temperatures;
  put_numbers(events, end, json,
              {"log_z_se", "weight_ess", "log_z_upper", "log_z_upper_se", "weight_ess_reverse",
               "log_z_bidirectional", "bracket", "tempering", "log_likelihood", "bits_per_dim",
               "acceptance"});
  for (const auto& [name, value] : evaluation.chains()) {
    const torch::Tensor& tensor = std::get<torch::Tensor>(value.value);
    if (name.starts_with("log_weights")) events.histogram(end, name, numbers(tensor));
    if (name != "x") continue;
    put_energies(events, end, evaluation.energies_of(tensor));
    put_pictures(events, end, tensor.cpu(), *evaluation.spec().model.image);
  }
}

// Evaluates missing pixels, image by image.
std::string run_conditional(const Options& options, const Context& context, OutputDirectory& out) {
  ConditionalEvaluation evaluation(spec_of<EvaluateSpec>(options.said()), context);
  const fs::path results = out.file("conditional.json");
  const bool resumes = options.has("resume") || OutputDirectory::begun_before(options);
  out.fill(options.of_run(values_of(evaluation.spec())), [&] {
    std::optional<Progress> progress(std::in_place, "evaluate", evaluation.images(),
                                     quiet(options));
    const bool finished = evaluation.run(results, out.file("ais-checkpoint.pt"), resumes,
                                         [&](int64_t done) { progress->update(done); });
    progress.reset();
    const std::string standing =
        fmt::format("{} of {} images; isinglass evaluate --resume {} continues the evaluation",
                    evaluation.done(), evaluation.images(), out.path().string());
    out.keep(fmt::format("{} holds {}", results.string(), standing));
    if (!finished) throw Interrupted("the evaluation was saved after " + standing);
  });
  if (!is_rank0()) return "";
  return options.flag("json")
             ? text_of(evaluation.json(), 2) + "\n"
             : evaluation.text() + fmt::format("  written to {}\n", out.path().string());
}

std::string run_evaluate(const Options& options) {
  const Context context = context_of(options);
  if (options.has("sampler")) find_sampler(options.text("sampler"));
  OutputDirectory out(options);
  if (options.has("inpaint")) return run_conditional(options, context, out);
  LikelihoodEvaluation evaluation(spec_of<EvaluateSpec>(options.said()), context);
  const fs::path checkpoint = out.file("ais-checkpoint.pt");
  if (options.has("resume") || OutputDirectory::begun_before(options)) {
    require(!fs::exists(out.file("ais.json")),
            "--resume {} has nothing to do, because that evaluation is finished",
            out.path().string());
    if (fs::exists(checkpoint)) evaluation.restore(checkpoint);
  }
  if (const std::string warning = evaluation.warning();
      !warning.empty() && is_rank0() && !quiet(options)) {
    fmt::print(stderr, "isinglass: warning: {}\n", spell_options(warning, "--"));
  }
  // Says how many steps are done and how to resume.
  const auto standing = [&] {
    return fmt::format("{} of {} steps; isinglass evaluate --resume {} continues the run",
                       evaluation.steps_done(), evaluation.steps_total(), out.path().string());
  };
  nlohmann::ordered_json json;
  out.fill(options.of_run(values_of(evaluation.spec())), [&] {
    std::optional<Progress> progress(std::in_place, "evaluate", evaluation.steps_total(),
                                     quiet(options), evaluation.steps_done());
    const bool finished = evaluation.run(
        checkpoint,
        {.on_step = [&] { progress->update(evaluation.steps_done()); },
         .on_saved =
             [&] { out.keep(fmt::format("{} holds {}", checkpoint.string(), standing())); }});
    progress.reset();
    if (!finished) throw Interrupted("the evaluation was saved after " + standing());
    if (!is_rank0()) return;
    json = evaluation.json();
    evaluation.write(out.path(), json);
    if (const auto events = event_file(options)) show(*events, evaluation, json);
    fs::remove(checkpoint);
  });
  if (!is_rank0()) return "";
  return options.flag("json") ? text_of(json, 2) + "\n" : result_text(evaluation, out);
}

}  // namespace

Command evaluate_command() {
  Command command{.name = "evaluate",
                  .summary = "estimate log Z by annealing or tempering, and log-likelihoods",
                  .options = options_of<EvaluateSpec>(),
                  .run = run_evaluate,
                  .by_ranks = true};
  append(command.options, {run_directory_option("evaluate"),
                           resume_option("continue the evaluation of this directory"),
                           overwrite_option(), tensorboard_option()});
  return command;
}

}  // namespace isinglass
