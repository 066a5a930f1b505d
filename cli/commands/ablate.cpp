// isinglass ablate: runs a grid of models × samplers × settings × repeats (lab/grid/grid.h), from a
// file or a preset, and writes report.html at the end. A grid that is killed resumes at the next
// cell.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/job.h"
#include "cli/output_directory.h"
#include "cli/tensorboard.h"
#include "cli/terminal/progress.h"
#include "io/json.h"
#include "lab/grid/cells/trained_models.h"
#include "lab/grid/run.h"
#include "lab/report/write.h"
#include "lab/spec/field.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

// Returns why a claim is undecided, for each model with another reason, once each; empty if the
// claim is decided.
std::string reasons_of(const Json& claim) {
  if (claim["verdict"] != "undecided") return "";
  std::vector<std::string> reasons;
  for (const Json& model : claim["models"]) {
    const std::string reason = model.value("reason", "");
    const bool known = std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
    if (!reason.empty() && !known) reasons.push_back(reason);
  }
  return reasons.empty() ? "" : fmt::format(" ({})", fmt::join(reasons, "; "));
}

std::string results_text(const Json& results, const std::string& directory) {
  std::string text = fmt::format("{}: {} cells, {} failed\n", results["title"].get<std::string>(),
                                 results["cells"].get<int64_t>(), results["failed"].get<int64_t>());
  int64_t measured = 0, mixed = 0;
  for (const Json& row : results["rows"]) {
    const Json rhat = row["metrics"].value("rhat", Json());
    if (!rhat.is_number()) continue;
    ++measured;
    mixed += rhat.get<double>() <= kConvergedRhat;
  }
  if (mixed < measured) {
    text += fmt::format(
        "  the chains of {} of {} cells have not converged: R-hat is above {:g}; more steps or "
        "other settings are needed\n",
        measured - mixed, measured, kConvergedRhat);
  }
  for (const Json& claim : results["claims"]) {
    text += fmt::format("  {}: {}{}\n", claim["verdict"].get<std::string>(),
                        claim["claim"].get<std::string>(), reasons_of(claim));
  }
  return text + fmt::format("  written to {}\n", directory);
}

Json run_cells(const Options& options, const GridSpec& spec, const Grid& grid, OutputDirectory& out,
               const Context& context) {
  const bool silent = quiet(options);
  const std::string goes_on =
      fmt::format("isinglass ablate --resume {} continues the run", out.path().string());
  Progress progress("ablate", static_cast<int64_t>(grid.cells.size()), silent);
  GridHooks hooks{
      .on_cell = [&](int64_t done, const std::string& cell) { progress.update(done, cell); },
      .on_kept = [&] { out.keep("the finished cells are kept; " + goes_on); },
      .on_stale =
          [&](int64_t cells, const std::string& why, const std::filesystem::path& folder) {
            if (silent) return;
            fmt::print(
                stderr,
                "isinglass: {} cells are run again because {}; their old files are moved to {}\n",
                cells, why, folder.string());
          }};
  if (Job* job = present_job()) hooks.next = [job] { return job->next("cell"); };
  try {
    return run_grid(spec, grid, out.path(), context, hooks);
  } catch (const Interrupted& stopped) {
    throw Interrupted(fmt::format("{}; {}", stopped.what(), goes_on));
  }
}

// Writes the metrics of every cell over its repeats.
void show(EventFile& events, const Json& results) {
  for (const Json& row : results["rows"]) {
    const std::string of =
        fmt::format("{} by {} {}", row["model"].get<std::string>(),
                    row["sampler"].get<std::string>(), text_of(row.value("settings", Json())));
    put_numbers(events, row["repeat"].get<int64_t>(), Json{{of, row["metrics"]}}, {of.c_str()});
  }
}

std::string run_ablate(const Options& options) {
  const Context context = context_of(options);
  OutputDirectory out(options);
  GridSpec spec = spec_of<GridSpec>(options.said());
  if (spec.cache.empty()) spec.cache = default_cache();
  const Grid grid = read_grid(spec);
  if (!grid.warning.empty() && is_rank0() && !quiet(options)) {
    fmt::print(stderr, "isinglass: warning: {}\n", spell_options(grid.warning, "--"));
  }
  Json results;
  out.fill(options.of_run(values_of(spec)), [&] {
    results = run_cells(options, spec, grid, out, context);
    if (!is_rank0()) return;
    if (const auto events = event_file(options)) show(*events, results);
    write_report(out.path(), out.file("report.html"));
  });
  if (!is_rank0()) return "";
  return options.flag("json") ? text_of(results, 2) + "\n"
                              : results_text(results, out.path().string());
}

}  // namespace

Command ablate_command() {
  Command command{.name = "ablate",
                  .summary = "run a grid of models × samplers × settings, and judge its claims",
                  .options = options_of<GridSpec>(),
                  .run = run_ablate,
                  .by_ranks = true};
  append(command.options,
         {run_directory_option("ablate"), resume_option("continue the grid of this directory"),
          overwrite_option(), tensorboard_option()});
  return command;
}

}  // namespace isinglass
