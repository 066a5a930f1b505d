// isinglass evaluate: log Z by annealed importance sampling, log-likelihoods of the data's splits,
// and a verdict on them. Writes ais.json and chains.pt (the final chains and their log-weights).
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/output_directory.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "engine/registry.h"
#include "io/error.h"
#include "io/files.h"
#include "io/pt/pt_file.h"
#include "lab/run/likelihood_evaluation.h"
#include "lab/spec/field.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

std::string estimate(double value, double error) {
  return fmt::format("{:.3f} ± {}", value,
                     std::isnan(error) ? "undefined" : fmt::format("{:.3f}", error));
}

std::string result_text(const LikelihoodEvaluation& evaluation, const OutputDirectory& out) {
  const AisResult& ais = evaluation.result();
  const BracketVerdict& verdict = evaluation.verdict();
  const int64_t chains = ais.log_weights.numel();
  std::string text = fmt::format("log Z {} (ESS of the weights {:.1f} of {})\n",
                                 estimate(ais.log_z, ais.log_z_se), ais.weight_ess, chains);
  if (ais.reverse) {
    const ReverseResult& reverse = *ais.reverse;
    text +=
        fmt::format("  in reverse {} (ESS {:.1f} of {}), both ways {}\n",
                    estimate(reverse.log_z_upper, reverse.log_z_upper_se), reverse.weight_ess,
                    chains, estimate(reverse.log_z_bidirectional, reverse.log_z_bidirectional_se));
  }
  if (!evaluation.outcome().empty()) text += fmt::format("  {}\n", evaluation.outcome());
  for (const SplitLikelihood& split : evaluation.splits()) {
    text += fmt::format("  {:<10} {}; {:.4f} bits per pixel; independent pixels {:.1f} nats\n",
                        split.split, likelihood_text(split.nats, verdict), split.bits_per_dim,
                        split.bernoulli);
  }
  if (evaluation.splits().empty()) {
    text += fmt::format("  {}{}\n", verdict.word(), verdict.closed ? "" : ": " + verdict.reason);
  }
  text += fmt::format("  {}\n", ais.reverse ? kBothWays : kForwardBias);
  return text + fmt::format("  written to {}\n", out.path().string());
}

std::string run_evaluate(const Options& options) {
  const torch::Device device = device_of(options.text("device"));
  if (options.has("sampler")) find_sampler(options.text("sampler"));
  OutputDirectory out(options);
  LikelihoodEvaluation evaluation(spec_of<EvaluateSpec>(options.said()), device);
  const fs::path checkpoint = out.file("ais-checkpoint.pt");
  if (options.has("resume")) {
    require(!fs::exists(out.file("ais.json")), "--resume {}: that evaluation is finished",
            out.path().string());
    if (fs::exists(checkpoint)) evaluation.restore(checkpoint);
  }
  // How far it has come, and how to go on.
  const auto standing = [&] {
    return fmt::format("{} of {} steps; isinglass evaluate --resume {} goes on",
                       evaluation.steps_done(), evaluation.steps_total(), out.path().string());
  };
  nlohmann::ordered_json json;
  out.fill(options.of_run(values_of(evaluation.spec())), [&] {
    std::optional<Progress> progress(std::in_place, "anneal", evaluation.steps_total(),
                                     options.flag("quiet"), evaluation.steps_done());
    const bool finished = evaluation.run(
        checkpoint,
        {.stop = interrupted,
         .on_step = [&] { progress->update(evaluation.steps_done()); },
         .on_saved =
             [&] { out.keep(fmt::format("{} holds {}", checkpoint.string(), standing())); }});
    progress.reset();
    if (!finished) throw Interrupted("saved after " + standing());
    json = evaluation.json();
    const AisResult& ais = evaluation.result();
    PtDict chains = {{"x", {ais.x}}, {"log_weights", {ais.log_weights}}};
    if (ais.reverse) {
      chains.push_back({"x_reverse", {ais.reverse->x}});
      chains.push_back({"log_weights_reverse", {ais.reverse->log_weights}});
    }
    write_pt(out.file("chains.pt"), PtValue{std::move(chains)});
    write_file(out.file("ais.json"), json.dump(2) + "\n");
    fs::remove(checkpoint);
  });
  return options.flag("json") ? json.dump(2) + "\n" : result_text(evaluation, out);
}

}  // namespace

Command evaluate_command() {
  Command command{.name = "evaluate",
                  .summary = "log Z by annealed importance sampling, and log-likelihoods",
                  .options = options_of<EvaluateSpec>(),
                  .run = run_evaluate};
  append(command.options,
         {out_option("directory of the results; required, or --resume"),
          resume_option("go on with the evaluation of this directory"), overwrite_option()});
  return command;
}

}  // namespace isinglass
