// Implements the reading of grids whose cells sample.
#include "lab/grid/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/registry.h"
#include "engine/sampler.h"
#include "io/files.h"
#include "lab/grid/entries.h"
#include "lab/grid/learning_grid.h"
#include "lab/grid/metrics.h"
#include "lab/grid/rules/claims_file.h"
#include "lab/presets/presets.h"
#include "lab/run/training.h"
#include "lab/spec/field.h"
#include "lab/toml.h"
#include "models/instances/instances.h"
#include "models/registry.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kModelKeys = {"label", "published", "train", "otherwise",
                                             "modes", "small",     "below"};

// Throws Error for mistakes that can be found before anything runs.
void check_cell(const Cell& cell, const GivenModels& given) {
  const SampleSpec& sample = cell.sampling;
  require_given(!sample.sampler.name.empty(), "sampler");
  find_sampler(sample.sampler.name);
  require_given(sample.steps.has_value(), "steps");
  require_options(!sample.time,
                  "`time` is given, but a grid needs the same numbers of steps on every machine; "
                  "give `burn-in`");
  if (given.contains(cell.model)) return;
  if (!sample.model.instance.empty()) check_instance(sample.model.instance);
  if (!sample.model.name.empty()) find_model(sample.model.name);
  if (!sample.model.weights.empty()) {
    require_options(fs::is_regular_file(sample.model.weights), "`weights` {} is not a file",
                    sample.model.weights.string());
  } else if (cell.training.empty()) {
    require(!sample.model.instance.empty() || !sample.model.factors.empty(),
            "the model needs an instance, weights, factors or training");
  }
}

struct ModelEntryValues {
  std::string label;
  OptionValues values;
  std::vector<TrainSpec> training;
  Modes modes;
  std::string stands_for;
};

// Replaces the instance of a model whose parameters are published as a file by that file, if the
// data directory has it. The label says which of the two is used.
void take_published(ModelEntryValues& model, const std::string& published, const fs::path& data) {
  const fs::path file = fs::absolute(data / published);
  if (!fs::is_regular_file(file)) {
    model.label += ", generated";
    return;
  }
  const std::string instance = text_or(model.values, "instance", "");
  model.label += ", " + published;
  model.values.erase("instance");
  override_values(model.values,
                  {{"model", make_instance(instance)->kind_name()}, {"weights", file.string()}});
}

// Returns the data options of the command line.
OptionValues data_values(const DataSpec& data) {
  SampleSpec spec;
  spec.data = data;
  OptionValues values;
  for (const char* name : {"dataset", "data-dir"}) {
    const OptionValues all = values_of(spec);
    if (const auto found = all.find(name); found != all.end()) values.insert(*found);
  }
  return values;
}

// Reads [models.train], or every [[models.train]].
std::vector<TrainSpec> read_training(const toml::table& table, const std::string& where,
                                     const fs::path& folder, const GridSpec& spec) {
  std::vector<TrainSpec> all;
  const auto add = [&](const toml::table& train) {
    const std::string entry = where + " train";
    std::vector<OptionValues> values = combinations(train, train_options(), entry, folder);
    require(values.size() == 1, "{} contains a list, but its values must be single ones", entry);
    override_values(values.front(), data_values(spec.data));
    scale_options(sampling_rules(), spec.scale, values.front());
    all.push_back(told_where(entry, [&] {
      return without_scores(resolved_objective(spec_of<TrainSpec>(values.front())));
    }));
  };
  if (const toml::array* several = table["train"].as_array()) {
    for (const toml::node& node : *several) {
      require(node.is_table(), "{}: train must be a table or a list of tables", where);
      add(*node.as_table());
    }
  } else if (const toml::table* one = table_of(table, "train", where)) {
    add(*one);
  }
  return all;
}

// Appends rows of numbers.
void read_points(const toml::node* node, const std::string& where,
                 std::vector<torch::Tensor>& rows) {
  if (!node) return;
  require(node->is_array(), "{} must be a list of points [x, y, …]", where);
  for (const toml::node& point : *node->as_array()) {
    std::vector<double> numbers;
    require(point.is_array(), "{}: a point must be a list of numbers", where);
    for (const toml::node& number : *point.as_array()) {
      const auto value = number.value<double>();
      require(value.has_value(), "{}: a point must be a list of numbers", where);
      numbers.push_back(*value);
    }
    rows.push_back(torch::tensor(numbers, torch::kFloat64));
    require(rows.back().sizes() == rows.front().sizes(), "{}: the points differ in length", where);
  }
}

Modes read_modes(const toml::table& table, const std::string& where) {
  const toml::table* modes = table_of(table, "modes", where);
  if (!modes) return {};
  check_keys(*modes, where + " modes", {"right", "wrong", "radius"});
  std::vector<torch::Tensor> points;
  read_points(modes->get("right"), where + " modes: right", points);
  const auto right = static_cast<int64_t>(points.size());
  require(right > 0, "{} modes: right is missing", where);
  read_points(modes->get("wrong"), where + " modes: wrong", points);
  Modes read{torch::stack(points), torch::arange(static_cast<int64_t>(points.size())) < right};
  // Without it, states of a chain that diverges would be at the nearest mode.
  const auto radius = value_of<double>(*modes, "radius", where + " modes", "a number");
  require(radius.has_value(), "{} modes: radius is missing", where);
  read.radius = *radius;
  return read;
}

// Returns the entry's label. An entry without label, weights and instance is named after the model
// that it trains.
std::string model_label(const toml::table& table, const std::string& where,
                        const OptionValues& values, const std::vector<TrainSpec>& training) {
  if (const auto label = text_of(table, "label", where)) return *label;
  const std::string trained = training.empty() ? "" : training.front().model.name;
  const std::string file = fs::path(text_or(values, "weights", trained)).filename().string();
  return text_or(values, "instance", file);
}

std::vector<ModelEntryValues> read_models(const toml::table& grid, const std::string& name,
                                          const fs::path& folder, const GridSpec& spec) {
  const fs::path data = data_directory(spec.data);
  const bool fashion = has_fashion_mnist(data);
  std::vector<ModelEntryValues> models;
  for (const toml::node& node : entries(grid, "models", name)) {
    const std::string where = fmt::format("{}: [[models]]", name);
    const auto& [scaled, stands_for] = at_scale(*node.as_table(), spec.scale, where);
    const toml::table* table = &scaled;
    const toml::table* otherwise = table_of(*table, "otherwise", where);
    if (otherwise && !fashion) table = otherwise;
    const std::vector<TrainSpec> training = read_training(*table, where, folder, spec);
    const Modes modes = read_modes(*table, where);
    for (OptionValues values : combinations(*table, sample_options(), where, folder, kModelKeys)) {
      if (values.contains("dataset")) override_values(values, data_values(spec.data));
      const bool given = training.size() == 1 && !spec.weights.empty();
      if (given) {
        override_values(
            values, {{"model", training.front().model.name}, {"weights", spec.weights.string()}});
      }
      models.push_back({model_label(*table, where, values, training), values,
                        given ? std::vector<TrainSpec>{} : training, modes, stands_for});
      if (const auto published = text_of(*table, "published", where)) {
        take_published(models.back(), *published, data);
      }
    }
  }
  return models;
}

struct SamplerEntryValues {
  std::string label;
  OptionValues values;
};

// Returns the size of the largest group of chains that a sampler moves together.
int64_t largest_group(const std::vector<SamplerEntryValues>& samplers) {
  double largest = 1;
  for (const SamplerEntryValues& sampler : samplers) {
    const auto group = sampler.values.find("group");
    if (group != sampler.values.end()) largest = std::max(largest, std::get<double>(group->second));
  }
  return static_cast<int64_t>(largest);
}

std::vector<SamplerEntryValues> read_samplers(const toml::table& grid, const std::string& name,
                                              const fs::path& folder) {
  std::vector<SamplerEntryValues> samplers;
  for (const toml::node& node : entries(grid, "samplers", name)) {
    const std::string where = name + ": [[samplers]]";
    const auto label = text_of(*node.as_table(), "label", where);
    for (OptionValues& values :
         combinations(*node.as_table(), sample_options(), where, folder, {"label"})) {
      const std::string sampler = text_or(values, "sampler", "");
      samplers.push_back({label.value_or(sampler), std::move(values)});
    }
  }
  return samplers;
}

// Makes a cell without its number of repeat and its seed.
Cell make_cell(OptionValues values, const ModelEntryValues& model,
               const SamplerEntryValues& sampler, double scale,
               const std::vector<std::string>& fixed, int64_t group, const GivenModels& given) {
  Cell cell{.model = model.label,
            .sampler = sampler.label,
            .stands_for = model.stands_for,
            .training = model.training,
            .modes = model.modes};
  for (const auto& [name, value] : sampler.values) {
    if (name != "sampler") cell.settings.emplace_back(name, value_text(value));
  }
  for (const OptionValues& more : {model.values, sampler.values}) override_values(values, more);
  require_options(!values.contains("seed"),
                  "seed = {} is not allowed in a grid, because cells get their seeds from `seed` "
                  "and the number of the repeat",
                  text_or(values, "seed", ""));
  scale_options(sampling_rules(fixed), scale, values, group);
  cell.calls = divide_calls(values);
  cell.sampling = spec_of<SampleSpec>(values);
  check_cell(cell, given);
  return cell;
}

// Returns whether the cells measure the metric. Some targets know their modes even if the grid does
// not list them.
bool is_measured(const Grid& grid, const std::string& metric) {
  if (metric == "mean_error") return grid.true_mean.has_value();
  if (metric.starts_with("mmd") || metric == "reference_rhat") return grid.reference;
  if (metric == "least_energy") return grid.picture.has_value();
  if (metric == "right_share" || metric == "calls_to_right") return !grid.cells[0].learning;
  const bool of_chains = static_cast<bool>(find_metric(metric, grid.name).measure);
  if (!grid.cells[0].learning) return of_chains;
  const std::vector<std::string> of_training = {"acceptance",  "hops",    "coupling_rmse",
                                                "divergences", "seconds", "iterations_per_second"};
  const bool trained =
      std::find(of_training.begin(), of_training.end(), metric) != of_training.end();
  return trained || (!of_chains && grid.cells[0].evaluation);
}

// Reads the claims, which name models by their labels. If a smaller model replaces one, the claim
// is about the smaller one.
void read_claims_of(const toml::table& table, Grid& grid) {
  grid.claims = read_claims(table, grid.name);
  std::vector<Setting> settings;
  for (const Cell& cell : grid.cells) {
    if (cell.repeat > 0) continue;
    settings.push_back(
        {cell.model, cell.sampler, {cell.settings.begin(), cell.settings.end()}, {}});
    if (cell.stands_for.empty()) continue;
    for (Claim& claim : grid.claims) {
      std::replace(claim.models.begin(), claim.models.end(), cell.stands_for, cell.model);
    }
  }
  check_claims(grid.claims, settings, grid.name,
               [&](const std::string& metric) { return is_measured(grid, metric); });
  grid.warning = undecidable(grid.claims, settings, grid.repeats);
}

// Reads a grid whose cells sample.
void read_sampling_cells(const toml::table& table, const fs::path& folder, const GridSpec& spec,
                         const GivenModels& given, Grid& grid) {
  const std::string& name = grid.name;
  check_keys(table, name,
             {"cells", "title", "repeats", "mean", "reference", "fixed", "pictures", "common",
              "models", "samplers", "claims"});
  grid.true_mean = value_of<double>(table, "mean", name, "a number");
  const std::string reference = text_of(table, "reference", name).value_or("");
  require(reference.empty() || reference == "block-gibbs",
          "{}: reference is '{}'; it must be block-gibbs", name, reference);
  grid.reference = !reference.empty();
  const toml::table* shared = table_of(table, "common", name);
  require(shared, "{}: the grid needs a table [common] that contains at least steps", name);
  const std::vector<OptionValues> common =
      combinations(*shared, sample_options(), name + ": [common]", folder);
  require(common.size() == 1, "{}: [common] contains a list, but its values must be single ones",
          name);
  if (const auto size = text_of(table, "pictures", name)) {
    grid.picture = image_size(*size, name + ": pictures");
  }
  const std::vector<std::string> fixed = text_list(table, "fixed", name);
  const std::vector<SamplerEntryValues> samplers = read_samplers(table, name, folder);
  const int64_t group = largest_group(samplers);
  for (const ModelEntryValues& model : read_models(table, name, folder, spec)) {
    for (const SamplerEntryValues& sampler : samplers) {
      Cell cell = told_where(fmt::format("{}: {} by {}", name, model.label, sampler.label), [&] {
        return make_cell(common.front(), model, sampler, spec.scale, fixed, group, given);
      });
      for (cell.repeat = 0; cell.repeat < grid.repeats; ++cell.repeat) {
        cell.sampling.seed = spec.seed + cell.repeat;
        grid.cells.push_back(cell);
      }
      require(static_cast<int64_t>(grid.cells.size()) <= kMostCells, "{} has more than {} cells",
              name, kMostCells);
    }
  }
}

// Reads a grid's text. `name` is the preset or the file.
Grid grid_of(const std::string& text, const std::string& name, const fs::path& folder,
             const GridSpec& spec, const GivenModels& given) {
  const toml::table table = parse_toml(text, name);
  Grid grid{.name = name, .title = text_of(table, "title", name).value_or(name)};
  const int64_t said = value_of<int64_t>(table, "repeats", name, "a whole number").value_or(1);
  grid.repeats = spec.repeats > 0 ? spec.repeats : said;
  require(said >= 1 && grid.repeats <= kMostCells, "{}: repeats is {}; 1 to {} are allowed", name,
          said < 1 ? said : grid.repeats, kMostCells);
  const std::string cells = text_of(table, "cells", name).value_or("sample");
  require(cells == "sample" || cells == "train", "{}: cells is '{}'; it must be sample or train",
          name, cells);
  if (cells == "train") {
    read_learning_cells(table, folder, spec, grid);
  } else {
    read_sampling_cells(table, folder, spec, given, grid);
  }
  read_claims_of(table, grid);
  return grid;
}

}  // namespace

Grid read_grid(const GridSpec& said, const GivenModels& given) {
  GridSpec spec = said;
  require_options(spec.preset.empty() != spec.file.empty(),
                  "either `grid` FILE or `preset` NAME is needed; the presets are {}",
                  fmt::join(preset_names(grid_presets()), ", "));
  if (!spec.weights.empty()) {
    spec.weights = fs::absolute(spec.weights);
    require_options(fs::is_regular_file(spec.weights), "`weights` {} is not a file",
                    spec.weights.string());
  }
  spec.data = absolute(spec.data);
  if (!spec.preset.empty()) {
    return grid_of(preset_text(grid_presets(), spec.preset), spec.preset, "", spec, given);
  }
  const fs::path file = fs::absolute(spec.file);
  return grid_of(read_file(file), spec.file.string(), fs::weakly_canonical(file.parent_path()),
                 spec, given);
}

}  // namespace isinglass
