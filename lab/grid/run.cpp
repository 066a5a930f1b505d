// Implements the run of a grid: cell files, stale cells and results.json.
#include "lab/grid/run.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>

#include "io/error.h"
#include "io/files.h"
#include "io/json.h"
#include "lab/grid/cells/cell.h"
#include "lab/grid/cells/learning_cell.h"
#include "lab/grid/rows.h"
#include "lab/identity.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Returns the file of a cell. Files are numbered with the repeats outermost, so that a grid with
// more repeats keeps its cells.
fs::path cell_file(const fs::path& directory, const Grid& grid, size_t index) {
  const auto repeats = static_cast<size_t>(grid.repeats);
  const size_t settings = grid.cells.size() / repeats;
  const size_t number = index % repeats * settings + index / repeats;
  return directory / "cells" / fmt::format("{:05}.json", number + 1);
}

// Returns the directory in which a training cell trains: runs/00001 next to cells/ for
// cells/00001.json.
fs::path run_directory(const fs::path& cell_file) {
  return cell_file.parent_path().parent_path() / "runs" / cell_file.stem();
}

// Returns the contents of a finished cell's file, or null if there is none.
Json finished_cell(const fs::path& file, const Cell& cell) {
  if (!fs::exists(file)) return nullptr;
  const Json json = Json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  require(json.is_object() && json.contains("status"), "{} is not a cell of a grid", file.string());
  const Json identity = json.value("identity", Json::object());
  const bool own = identity.value("program", "") == program_revision();
  if (!json.contains("sampling") || !own) return json;  // It is stale, whatever its settings are.
  const Json expected = cell_settings(cell);
  for (const char* part : {"sampling", "training", "learning", "evaluation"}) {
    // Compares texts, as both have lost any bytes that are not UTF-8.
    require(text_of(json.value(part, Json())) == text_of(expected.value(part, Json())),
            "{} was made with other settings, because the grid has changed since", file.string());
  }
  return json;
}

// Returns why a finished cell no longer counts, or nothing if it does.
std::optional<std::string> staleness(const Json& finished, const Json& identity,
                                     double until_converged) {
  if (!finished.contains("sampling")) return "an earlier version of the program made them";
  const Json was = finished.value("identity", Json());
  if (text_of(was) != text_of(identity)) return identity_change(was, identity);
  // A cell whose training diverged has metrics and would diverge again, so that it counts.
  if (finished["status"] == "failed" && finished["metrics"].empty()) return "they had failed";
  if (finished.value("longer_run", INFINITY) > until_converged) return std::nullopt;
  return "they had not converged, and there is time for longer runs";
}

std::string revision_of(const Json& cell) {
  const Json identity = cell.value("identity", Json::object());
  return identity.is_object() ? identity.value("program", "unknown") : "unknown";
}

struct StaleCell {
  std::vector<std::filesystem::path> paths;  // They lie in the grid's directory.
  // These are the reason and the revision of the program that made them.
  std::string reason, revision;
};

// Returns a folder that does not exist yet, named by the revision. The revision comes from a file,
// so that its characters are sanitised.
fs::path unused_folder(const fs::path& directory, std::string revision) {
  std::replace_if(
      revision.begin(), revision.end(),
      [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '.'; }, '_');
  const fs::path plain = directory / ("stale-" + (revision.empty() ? "unknown" : revision));
  fs::path folder = plain;
  for (int number = 2; fs::exists(folder); ++number) {
    folder = fmt::format("{}-{}", plain.string(), number);
  }
  return folder;
}

// Announces all stale cells, then moves them to stale-REVISION/ in the directory. If that folder
// exists, the name is stale-REVISION-2/ and so on.
void set_aside(const fs::path& directory, const std::vector<StaleCell>& cells,
               const OnStale& announce) {
  std::map<std::string, fs::path> folders;
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  for (const StaleCell& cell : cells) {
    const auto [folder, is_new] = folders.try_emplace(cell.revision);
    if (is_new) folder->second = unused_folder(directory, cell.revision);
    ++counts[{cell.reason, cell.revision}];
  }
  for (const auto& [of, count] : counts) {
    if (announce) announce(count, of.first, folders.at(of.second));
  }
  for (const StaleCell& cell : cells) {
    for (const fs::path& path : cell.paths) {
      const fs::path target = folders.at(cell.revision) / fs::relative(path, directory);
      fs::create_directories(target.parent_path());
      fs::rename(path, target);
    }
  }
}

// Sets aside finished cells that belong to another program, to other data or files, or to a shorter
// time limit, together with their trained and half-trained networks, so that they are measured
// again.
void set_stale_cells_aside(const GridSpec& spec, const Grid& grid, GridIdentity& identity,
                           const fs::path& directory, const GridHooks& hooks) {
  std::vector<StaleCell> stale;
  for (size_t i = 0; i < grid.cells.size(); ++i) {
    const fs::path file = cell_file(directory, grid, i), run = run_directory(file);
    const Json cell = finished_cell(file, grid.cells[i]);
    Json now = cell_settings(grid.cells[i]);
    now["identity"] = identity.of(grid, grid.cells[i]);
    const auto other = grid.cells[i].learning ? other_training(run, now) : std::nullopt;
    if (cell.is_null()) {
      if (!other) continue;
      stale.push_back({{run},
                       "they are half-trained, by another program or with other data or settings",
                       revision_of(*other)});
      continue;
    }
    const auto reason = staleness(cell, now["identity"], spec.until_converged);
    if (!reason) continue;
    stale.push_back({{file}, *reason, revision_of(cell)});
    if (other) stale.back().paths.push_back(run);
  }
  set_aside(directory, stale, hooks.on_stale);
}

Json results_json(const GridSpec& spec, const Grid& grid, const std::vector<Row>& rows,
                  torch::Device device) {
  Json claims = Json::array();
  for (const Claim& claim : grid.claims) claims.push_back(judge(claim, rows));
  Json rules = Json::array();
  for (const ScaleRule& rule : grid.rules) {
    rules.push_back({{"option", rule.option}, {"exponent", rule.exponent}, {"least", rule.least}});
  }
  Json published = Json::array();
  for (const auto& [who, number] : grid.published) published.push_back({who, number});
  Json smaller = Json::object();
  for (const Cell& cell : grid.cells) {
    if (!cell.stands_for.empty()) smaller[cell.model] = cell.stands_for;
  }
  const auto failed =
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.done(); });
  return {{"grid", grid.name},
          {"title", grid.title},
          {"scale", spec.scale},
          {"scale_rules", rules},
          {"smaller", smaller},
          {"published", published},
          {"published_unit", grid.published_unit},
          {"repeats", grid.repeats},
          {"until_converged", spec.until_converged},
          {"seed", spec.seed},
          {"device", device.str()},
          {"threads", at::get_num_threads()},
          {"version", kProgramVersion},
          {"revision", program_revision()},
          {"cells", rows.size()},
          {"failed", failed},
          {"claims", claims},
          {"rows", rows_json(rows)}};
}

// Formats "radius=5, tau=0.1".
std::string settings_text(const std::vector<std::pair<std::string, std::string>>& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

std::string title_of(const Cell& cell) {
  return fmt::format("{} by {} {}", cell.model, cell.sampler, settings_text(cell.settings));
}

// Runs the cells that this rank gets, unless they are finished. Returns false if it was stopped.
bool run_cells(const GridSpec& spec, const Grid& grid, const fs::path& directory,
               const Context& context, GridIdentity& identity, const GridHooks& hooks,
               const GivenModels& given) {
  GridModels models(spec.cache.empty() ? default_cache() : spec.cache, identity, context.device,
                    context.stop, given);
  GridData data;
  int64_t counter = 0;
  const auto next = [&] { return static_cast<size_t>(hooks.next ? hooks.next() : counter++); };
  for (size_t i = next(); i < grid.cells.size(); i = next()) {
    const Cell& cell = grid.cells[i];
    const fs::path file = cell_file(directory, grid, i);
    Json json = finished_cell(file, cell);
    if (json.is_null()) {
      try {
        json = cell_settings(cell);
        json["identity"] = identity.of(grid, cell);
        json.update(cell.learning ? run_learning_cell(cell, json, run_directory(file), data,
                                                      context.device, context.stop, hooks.on_kept)
                                  : run_cell(grid, cell, models, context.device, context.stop,
                                             spec.until_converged));
      } catch (const Interrupted&) {
        return false;
      }
      write_file(file, text_of(json) + "\n");
      if (hooks.on_kept) hooks.on_kept();
    }
    if (hooks.on_cell) hooks.on_cell(static_cast<int64_t>(i + 1), title_of(cell));
  }
  return true;
}

// Returns the rows of all cells. Throws Interrupted if some are not finished.
std::vector<Row> finished_rows(const Grid& grid, const fs::path& directory) {
  std::vector<Row> rows;
  for (size_t i = 0; i < grid.cells.size(); ++i) {
    const Json json = finished_cell(cell_file(directory, grid, i), grid.cells[i]);
    if (!json.is_null()) rows.push_back(row_of(json));
  }
  if (rows.size() < grid.cells.size()) {
    throw Interrupted(fmt::format("{} of {} cells are finished", rows.size(), grid.cells.size()));
  }
  return rows;
}

}  // namespace

Json run_grid(const GridSpec& spec, const Grid& grid, const fs::path& directory,
              const Context& context, const GridHooks& hooks, const GivenModels& given) {
  const Ranks& ranks = *context.ranks;
  GridIdentity identity(context.device, given);
  if (ranks.is_rank0()) {
    fs::create_directories(directory / "cells");
    set_stale_cells_aside(spec, grid, identity, directory, hooks);
  }
  ranks.any(false);  // The other ranks wait for rank 0 here, and at the end for each other.
  const bool finished = run_cells(spec, grid, directory, context, identity, hooks, given);
  const bool stopped = ranks.any(!finished);
  if (!stopped && !ranks.is_rank0()) return {};
  const std::vector<Row> rows = finished_rows(grid, directory);
  const Json results = results_json(spec, grid, rows, context.device);
  write_file(directory / "results.json", text_of(results, 1) + "\n");
  write_file(directory / "results.csv", rows_csv(rows));
  return results;
}

}  // namespace isinglass
