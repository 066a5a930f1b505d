// Implements the curves and pictures of a grid's page.
#include "lab/report/grid_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace isinglass::report {
namespace {

namespace fs = std::filesystem;

// Returns a curve stored in the cells, for the best setting of each sampler.
Json curves(const std::vector<Setting>& best, const Cells& cells, const std::string& key,
            const std::string& x, const std::string& y) {
  Json series = Json::array();
  for (const Setting& setting : best) {
    const auto cell = cells.find({setting.model, setting.label()});
    if (cell == cells.end() || !cell->second.contains(key)) continue;
    series.push_back(
        {{"label", setting.label()}, {"x", cell->second[key][x]}, {"y", cell->second[key][y]}});
  }
  return series;
}

// Returns a training curve for all settings in `best` that have it.
Json learning_curves(const std::vector<Setting>& best, const Cells& cells, const std::string& key) {
  Cells own;
  for (const auto& [name, cell] : cells) {
    const Json kept = cell.value("curves", Json::object());
    if (kept.contains(key)) own[name] = kept;
  }
  return curves(best, own, key, "iteration", "value");
}

// Returns why a cell's evaluation gave no likelihood, or an empty text if it gave one or there was
// no evaluation.
std::string open_because(const Json& cell) {
  const Json result = cell.value("evaluation_result", Json::object());
  if (result.contains("error")) return result["error"];
  return result.value("verdict", Json()) == "open" ? result.value("reason", std::string()) : "";
}

}  // namespace

std::vector<Json> finished_cells(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(directory / "cells", missing)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Json> cells;
  for (const fs::path& file : files) {
    Json cell = read_json(file);
    if (cell.value("status", "") == "done") cells.push_back(std::move(cell));
  }
  return cells;
}

Cells first_cells(const std::vector<Json>& finished) {
  Cells cells;
  for (const Json& cell : finished) {
    if (cell.value("repeat", -1) != 0) continue;
    const Setting setting{cell["model"], cell["sampler"], cell["settings"], {}};
    cells[{setting.model, setting.label()}] = cell;
  }
  return cells;
}

void add_curves(Json& list, const std::vector<Setting>& best, const Cells& cells) {
  const auto add = [&](const char* title, const char* axis, const char* what, Json series) {
    if (!series.empty()) list.push_back(line_chart(title, {axis}, {what}, std::move(series)));
  };
  const bool by_calls = std::any_of(cells.begin(), cells.end(), [](const auto& cell) {
    return cell.second.value("trace", Json::object()).contains("calls");
  });
  add("Mean energy from the start, burn-in included", by_calls ? "model calls per chain" : "step",
      "energy, mean over chains",
      curves(best, cells, "trace", by_calls ? "calls" : "step", "energy"));
  add("Chains at right modes", "model calls per chain", "share",
      curves(best, cells, "mode_trace", "calls", "share"));
  const Json mmd = curves(best, cells, "mmd_trace", "seconds", "mmd");
  if (!mmd.empty()) {
    list.push_back(line_chart("MMD² to ground truth against time",
                              {"seconds, burn-in included", true}, {"MMD² of all chains' states"},
                              mmd));
  }
  add("Autocorrelation of the statistic", "lag, steps", "mean over chains",
      curves(best, cells, "autocorrelation", "lag", "rho"));
  add("RMSE of the couplings while they are learned", "iteration", "RMSE",
      learning_curves(best, cells, "coupling_rmse"));
  add("Energy of data − chains", "iteration", "mean over the batch",
      learning_curves(best, cells, "difference"));
}

Json open_evaluations(const std::vector<Json>& finished) {
  Json open = Json::array();
  for (const Json& cell : finished) {
    const std::string why = open_because(cell);
    if (why.empty()) continue;
    const Setting setting{cell["model"], cell["sampler"], cell["settings"], {}};
    const Json& metrics = cell["metrics"];
    open.push_back({setting.model, setting.label(), cell["repeat"], why,
                    metrics.value("test_above", Json()), metrics.value("test_below", Json())});
  }
  return open;
}

Json cell_pictures(const std::vector<Setting>& best, const Cells& cells) {
  Json list = Json::array();
  for (const Setting& setting : best) {
    const auto cell = cells.find({setting.model, setting.label()});
    if (cell == cells.end() || !cell->second.contains("picture")) continue;
    Json shown = cell->second["picture"];
    shown["title"] = setting.label();
    if (cell->second.contains("learning")) shown["learned"] = true;
    list.push_back(std::move(shown));
  }
  return list;
}

std::string range_of(const Cells& cells, const std::string& part, const std::string& key) {
  std::set<int64_t> values;
  for (const auto& [name, cell] : cells) {
    const Json& found = cell.value(part, Json::object()).value(key, Json());
    if (found.is_number_integer()) values.insert(found.get<int64_t>());
  }
  if (values.empty()) return "–";
  return values.size() == 1 ? std::to_string(*values.begin())
                            : fmt::format("{} to {}", *values.begin(), *values.rbegin());
}

}  // namespace isinglass::report
