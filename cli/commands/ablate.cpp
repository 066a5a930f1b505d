// isinglass ablate: a grid of models × samplers × settings × repeats (cli/grid.h), from a file or a
// preset. Writes a file a cell as soon as it is finished, so that a grid that is killed goes on at
// the next cell; in the end results.json and results.csv, with a verdict on every claim, and
// report.html.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "lab/embedded.h"
#include "cli/grid.h"
#include "cli/grid_cell.h"
#include "cli/grid_identity.h"
#include "lab/grid/rows.h"
#include "cli/identity.h"
#include "cli/terminal/interrupt.h"
#include "cli/output_directory.h"
#include "cli/terminal/progress.h"
#include "cli/commands/report.h"
#include "cli/options/shared_options.h"
#include "io/error.h"
#include "io/files.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& preset : grid_presets()) names.push_back(preset.name);
  return names;
}

const std::string& preset_text(const std::string& name) {
  for (const EmbeddedFile& preset : grid_presets()) {
    if (preset.name == name) return preset.text;
  }
  fail("unknown preset '{}'; known: {}", name,
       fmt::join(nearest_first(name, preset_names()), ", "));
}

fs::path default_cache() {
  const auto variable = [](const char* name) -> fs::path {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (!variable("XDG_CACHE_HOME").empty()) return variable("XDG_CACHE_HOME") / "isinglass";
  require(!variable("HOME").empty(),
          "--cache DIR is needed: neither HOME nor XDG_CACHE_HOME is set");
  return variable("HOME") / ".cache" / "isinglass";
}

// What the command line says of every cell; the flags of the program go to `common` cells.
GridOptions grid_options(const Options& options) {
  GridOptions grid{.scale = options.real("scale"), .seed = options.integer("seed")};
  if (options.has("weights")) {
    grid.weights = fs::absolute(options.path("weights"));
    require(fs::is_regular_file(grid.weights), "--weights {} is no file", grid.weights.string());
  }
  grid.files = data_dir_of(options);
  for (const Option& option : data_options()) {
    if (!options.has(option.name)) continue;
    grid.data.emplace_back(option.name,
                           starting_at(fs::current_path(), option, options.text(option.name)));
  }
  grid.has_fashion_mnist = has_fashion_mnist(grid.files);
  return grid;
}

Grid grid_of(const Options& options) {
  const bool preset = options.has("preset");
  require(preset != options.has("grid"),
          "one of --grid FILE and --preset NAME is needed; presets: {}",
          fmt::join(preset_names(), ", "));
  if (preset) {
    const std::string& name = options.text("preset");
    return read_grid(preset_text(name), name, "", grid_options(options));
  }
  const fs::path file = fs::absolute(options.path("grid"));
  return read_grid(read_file(file), options.text("grid"), fs::weakly_canonical(file.parent_path()),
                   grid_options(options));
}

Json cell_settings(const Cell& cell) {
  Json settings = Json::object();
  for (const auto& [name, value] : cell.settings) settings[name] = value;
  Json training = Json::array();
  for (const Flags& network : cell.training) training.push_back(arguments_of(network));
  return {{"model", cell.model},
          {"sampler", cell.sampler},
          {"settings", settings},
          {"repeat", cell.repeat},
          {"arguments", arguments_of(cell.sampling)},
          {"training", training}};
}

// The file of a cell that an earlier sitting finished; null if there is none.
Json finished_cell(const fs::path& file, const Cell& cell) {
  if (!fs::exists(file)) return nullptr;
  const Json json = Json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  require(json.is_object() && json.contains("arguments"), "{} is not a cell of a grid",
          file.string());
  const Json expected = cell_settings(cell);
  require(json["arguments"] == expected["arguments"] && json["training"] == expected["training"],
          "{} was made with other settings: the grid has changed since", file.string());
  return json;
}

fs::path cell_file(const OutputDirectory& out, size_t index) {
  return out.file("cells") / fmt::format("{:05}.json", index + 1);
}

// Removes finished cells of another program, of other data or files: they are measured again, and
// a line says why.
void remove_stale_cells(const Grid& grid, GridIdentity& identity, const OutputDirectory& out,
                        bool quiet) {
  std::map<std::string, int64_t> reasons;
  for (size_t i = 0; i < grid.cells.size(); ++i) {
    const Json cell = finished_cell(cell_file(out, i), grid.cells[i]);
    if (cell.is_null()) continue;
    const Json was = cell.value("identity", Json()), is = identity.of(grid.cells[i]);
    if (was == is) continue;
    ++reasons[identity_change(was, is)];
    fs::remove(cell_file(out, i));
  }
  for (const auto& [reason, count] : reasons) {
    if (!quiet) fmt::print(stderr, "isinglass: {} finished cells go again: {}\n", count, reason);
  }
}

// What results.json keeps of a cell.
Json row_of(const Json& cell) {
  Json row;
  for (const char* key : {"model", "sampler", "settings", "repeat", "status", "error", "chains",
                          "metrics"}) {
    if (cell.contains(key)) row[key] = cell[key];
  }
  return row;
}

Json results_json(const Options& options, const Grid& grid, const Json& rows,
                  torch::Device device) {
  Json claims = Json::array();
  for (const Claim& claim : grid.claims) claims.push_back(judge(claim, rows));
  const auto failed = std::count_if(rows.begin(), rows.end(),
                                    [](const Json& row) { return row["status"] != "done"; });
  return {{"grid", grid.name},
          {"title", grid.title},
          {"scale", options.real("scale")},
          {"until_converged", options.real("until-converged")},
          {"seed", options.integer("seed")},
          {"device", device.str()},
          {"threads", at::get_num_threads()},
          {"version", ISINGLASS_VERSION},
          {"revision", program_revision()},
          {"cells", rows.size()},
          {"failed", failed},
          {"claims", claims},
          {"rows", rows}};
}

std::string results_text(const Json& results, const std::string& directory) {
  std::string text = fmt::format("{}: {} cells, {} failed\n", results["title"].get<std::string>(),
                                 results["cells"].get<int64_t>(), results["failed"].get<int64_t>());
  for (const Json& claim : results["claims"]) {
    text += fmt::format("  {}: {}\n", claim["verdict"].get<std::string>(),
                        claim["claim"].get<std::string>());
  }
  return text + fmt::format("  written to {}\n", directory);
}

// Every cell, from its file or by running it; the rows of all.
Json run_cells(const Options& options, const Grid& grid, OutputDirectory& out,
               torch::Device device) {
  GridIdentity identity(device);
  GridModels models(options.path("cache"), identity, device);
  Progress progress("ablate", static_cast<int64_t>(grid.cells.size()), options.flag("quiet"));
  fs::create_directories(out.file("cells"));
  remove_stale_cells(grid, identity, out, options.flag("quiet"));
  Json rows = Json::array();
  for (size_t i = 0; i < grid.cells.size(); ++i) {
    const Cell& cell = grid.cells[i];
    const fs::path file = cell_file(out, i);
    Json json = finished_cell(file, cell);
    if (json.is_null()) {
      try {
        json = cell_settings(cell);
        json["identity"] = identity.of(cell);
        json.update(run_cell(grid, cell, models, device, options.real("until-converged")));
      } catch (const Interrupted&) {
        throw Interrupted(
            fmt::format("{} of {} cells are finished; isinglass ablate --resume {} goes on", i,
                        grid.cells.size(), out.path().string()));
      }
      write_file(file, json.dump() + "\n");
      out.keep(fmt::format("the finished cells are kept; isinglass ablate --resume {} goes on",
                           out.path().string()));
    }
    rows.push_back(row_of(json));
    progress.update(
        static_cast<int64_t>(i + 1),
        fmt::format("{} by {} {}", cell.model, cell.sampler, settings_text(cell.settings)));
  }
  return rows;
}

std::string run_ablate(Options& options) {
  const torch::Device device = device_of(options);
  OutputDirectory out(options);
  if (!options.has("cache")) options.set("cache", default_cache().string());
  const Grid grid = grid_of(options);
  Json results;
  out.fill(options, [&] {
    results = results_json(options, grid, run_cells(options, grid, out, device), device);
    write_file(out.file("results.json"), results.dump(1) + "\n");
    write_file(out.file("results.csv"), rows_csv(results["rows"]));
    write_report(out.path(), out.file("report.html"));
  });
  return options.flag("json") ? results.dump(2) + "\n" : results_text(results, out.path().string());
}

}  // namespace

Command ablate_command() {
  Command command{.name = "ablate",
                  .summary = "run a grid of models × samplers × settings, and judge its claims",
                  .run = run_ablate};
  command.options = {
      {.name = "grid", .type = ValueType::kPath, .unit = "FILE", .help = "the grid (TOML)"},
      {.name = "preset",
       .unit = "NAME",
       .help = fmt::format("a grid of the papers: {}", fmt::join(preset_names(), ", "))},
      {.name = "scale",
       .type = ValueType::kReal,
       .unit = "S",
       .help = "share of the work: chains, steps and training iterations times its square root",
       .initial = 1.0,
       .minimum = 0,
       .maximum = 1,
       .above_minimum = true},
      {.name = "until-converged",
       .type = ValueType::kReal,
       .unit = "SECONDS",
       .help = "run a cell again with twice the burn-in and steps until R-hat is at most 1.05, as "
               "long as a run takes no more than this; 0: as long as the grid says",
       .initial = 0.0,
       .minimum = 0},
      {.name = "weights",
       .type = ValueType::kPath,
       .unit = "FILE",
       .help = "parameters of the grid's trained models, in place of training"},
      {.name = "cache",
       .type = ValueType::kPath,
       .unit = "DIR",
       .help = "where trained models are kept by their settings (default: ~/.cache/isinglass)"}};
  append(command.options, data_options());
  append(command.options, {{.name = "out",
                            .type = ValueType::kPath,
                            .unit = "DIR",
                            .help = "directory of the results; required, or --resume",
                            .stored = false},
                           {.name = "resume",
                            .type = ValueType::kPath,
                            .unit = "DIR",
                            .help = "go on with the grid of this directory",
                            .stored = false},
                           overwrite_option()});
  return command;
}

}  // namespace isinglass
