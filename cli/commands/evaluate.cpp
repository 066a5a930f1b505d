// isinglass evaluate: log Z by annealed importance sampling and log-likelihoods of the data's
// splits. Writes ais.json and chains.pt (the final chains and their log-weights).
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

std::string result_text(const AisResult& ais, const std::vector<SplitLikelihood>& splits,
                        const OutputDirectory& out) {
  const int64_t chains = ais.log_weights.numel();
  std::string text =
      fmt::format("log Z {:.3f} ± {} (ESS of the weights {:.1f} of {})\n", ais.log_z,
                  std::isnan(ais.log_z_se) ? "undefined" : fmt::format("{:.3f}", ais.log_z_se),
                  ais.weight_ess, chains);
  const std::string warning = weights_warning(ais.weight_ess, chains);
  if (!warning.empty()) text += fmt::format("  warning: {}\n", warning);
  for (const SplitLikelihood& split : splits) {
    text += fmt::format(
        "  {:<10} {:10.3f} nats per image, {:.4f} bits per pixel; independent pixels "
        "{:.3f} nats\n",
        split.split, split.model, split.bits_per_dim, split.bernoulli);
  }
  if (!splits.empty()) text += fmt::format("  {}\n", kForwardBias);
  return text + fmt::format("  written to {}\n", out.path().string());
}

std::string run_evaluate(const Options& options) {
  const torch::Device device = device_of(options.text("device"));
  find_sampler(options.text("sampler"));
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
    write_pt(out.file("chains.pt"),
             PtValue{PtDict{{"x", PtValue{ais.x}}, {"log_weights", PtValue{ais.log_weights}}}});
    write_file(out.file("ais.json"), json.dump(2) + "\n");
    fs::remove(checkpoint);
  });
  return options.flag("json") ? json.dump(2) + "\n"
                              : result_text(evaluation.result(), evaluation.splits(), out);
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
