// Implements the reading of grids whose cells train.
#include "lab/grid/learning_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/grid/entries.h"
#include "lab/run/training.h"
#include "lab/spec/field.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string label;
  OptionValues values;
  std::string stands_for = {};
};

// Reads EXPONENT or [EXPONENT, LEAST].
ScaleRule read_rule(const std::string& option, const toml::node& node, const std::string& where) {
  const toml::array* both = node.as_array();
  const auto number = [&](const toml::node* one) {
    const auto value = one ? one->value<double>() : std::nullopt;
    require(value.has_value(), "{}: {} must be an exponent or [exponent, least]", where, option);
    return *value;
  };
  if (!both) return {option, number(&node)};
  require(both->size() == 2, "{}: {} must be an exponent or [exponent, least]", where, option);
  return {option, number(both->get(0)), number(both->get(1))};
}

// Reads the rules in the table's `scale`, for the options of its entries.
std::vector<ScaleRule> read_rules(const toml::table& parent, const EntryOptions& options,
                                  const std::string& name) {
  std::vector<ScaleRule> rules;
  const std::string where = name + ": [scale]";
  const toml::table* table = table_of(parent, "scale", name);
  if (!table) return rules;
  for (const auto& [key, node] : *table) {
    const std::string option(key.str());
    const Option* known = find_option(options.table, option);
    require(known && (known->type == ValueType::kInteger || known->type == ValueType::kReal),
            "{}: {} is not a numeric option of {}", where, option, options.who);
    rules.push_back(read_rule(option, node, where));
  }
  return rules;
}

std::vector<Entry> read_trained_models(const toml::table& grid, const std::string& name,
                                       const fs::path& folder, const GridSpec& spec) {
  const std::string where = name + ": [[models]]";
  std::vector<Entry> models;
  for (const toml::node& node : entries(grid, "models", name)) {
    const auto& [table, stands_for] = at_scale(*node.as_table(), spec.scale, where);
    const auto label = text_of(table, "label", where);
    for (OptionValues& values :
         combinations(table, train_options(), where, folder, {"label", "small", "below"})) {
      const std::string data = text_or(values, "dataset", "");
      models.push_back({label.value_or(data), std::move(values), stands_for});
    }
  }
  return models;
}

std::vector<Entry> read_training_samplers(const toml::table& grid, const std::string& name,
                                          const fs::path& folder) {
  const std::string where = name + ": [[samplers]]";
  std::vector<Entry> samplers;
  for (const toml::node& node : entries(grid, "samplers", name)) {
    const auto label = text_of(*node.as_table(), "label", where);
    for (OptionValues& values :
         combinations(*node.as_table(), train_options(), where, folder, {"label"})) {
      const std::string sampler = text_or(values, "sampler", "");
      require(!sampler.empty(), "{}: sampler is missing", where);
      samplers.push_back({label.value_or(sampler), std::move(values)});
    }
  }
  return samplers;
}

// Returns the only combination of a table without lists. Throws Error if it has lists.
OptionValues only_values(const toml::table& table, const EntryOptions& options,
                         const std::string& where, const fs::path& folder,
                         const std::vector<std::string>& others = {}) {
  const auto all = combinations(table, options, where, folder, others);
  require(all.size() == 1, "{} contains a list, but its values must be single ones", where);
  return all.front();
}

// Returns the options of [evaluate], or nothing if the grid has none. Adds the rules by which the
// scale changes them.
std::optional<OptionValues> read_evaluation(const toml::table& given, const std::string& name,
                                            const fs::path& folder, double scale, Grid& grid) {
  const toml::table* table = table_of(given, "evaluate", name);
  if (!table) return std::nullopt;
  const std::string where = name + ": [evaluate]";
  OptionValues values = only_values(*table, evaluate_options(), where, folder, {"scale"});
  for (const char* own : {"model", "weights", "dataset", "validation", "test", "seed"}) {
    require_options(!values.contains(own),
                    "{}: `{}` must not be given here, because the cell determines it", where, own);
  }
  std::vector<ScaleRule> rules = read_rules(*table, evaluate_options(), where);
  scale_options(rules, scale, values);
  for (ScaleRule& rule : rules) {
    rule.option = "evaluation's " + rule.option;
    grid.rules.push_back(rule);
  }
  return values;
}

void read_published(const toml::table& given, const std::string& name, Grid& grid) {
  const toml::table* table = table_of(given, "published", name);
  if (!table) return;
  for (const auto& [key, node] : *table) {
    const std::string who(key.str());
    if (who == "unit") {
      grid.published_unit = text_of(*table, who, name + ": [published]").value_or("");
      continue;
    }
    const auto number = value_of<double>(*table, who, name + ": [published]", "a number");
    grid.published.emplace_back(who, *number);
  }
}

// Returns the evaluation of what the cell trains, without the weights and the seed.
EvaluateSpec evaluation_of(const TrainSpec& learning, const OptionValues& values) {
  EvaluateSpec spec = spec_of<EvaluateSpec>(values);
  spec.model.name = learning.model.name;
  spec.model.image = learning.model.image;
  spec.data = learning.data;
  if (spec.sampler.name.empty()) spec.sampler = learning.sampler;
  spec.reverse = spec.reverse.value_or(!spec.reverse_from.empty() || spec.until_closed > 0);
  return spec;
}

// Makes a cell without its seed.
Cell make_learning_cell(OptionValues values, const Entry& model, const Entry& sampler,
                        const Grid& grid, const GridSpec& spec,
                        const std::optional<OptionValues>& evaluation) {
  Cell cell{.model = model.label, .sampler = sampler.label, .stands_for = model.stands_for};
  for (const OptionValues& more : {model.values, sampler.values}) override_values(values, more);
  require_options(!values.contains("seed"),
                  "seed = {} is not allowed in a grid, because cells get their seeds from `seed` "
                  "and the number of the repeat",
                  text_or(values, "seed", ""));
  scale_options(grid.rules, spec.scale, values);
  for (const auto& [option, value] : sampler.values) {
    if (option != "sampler") cell.settings.emplace_back(option, value_text(values.at(option)));
  }
  if (!spec.data.directory.empty()) values["data-dir"] = spec.data.directory.string();
  cell.learning = without_scores(resolved_objective(spec_of<TrainSpec>(values)));
  require_given(!cell.learning->data.name.empty(), "dataset");
  if (evaluation) cell.evaluation = evaluation_of(*cell.learning, *evaluation);
  return cell;
}

}  // namespace

void read_learning_cells(const toml::table& table, const fs::path& folder, const GridSpec& spec,
                         Grid& grid) {
  const std::string& name = grid.name;
  check_keys(table, name,
             {"cells", "title", "repeats", "common", "models", "samplers", "claims", "scale",
              "evaluate", "published"});
  require_options(spec.until_converged == 0,
                  "`until-converged` applies to grids whose cells sample");
  require_options(spec.weights.empty(), "`weights` applies to grids whose cells sample");
  require_options(
      spec.data.name.empty(),
      "`dataset` must not be given for a grid whose cells train, because the grid names its data");
  grid.rules = read_rules(table, train_options(), name);
  read_published(table, name, grid);
  const auto evaluation = read_evaluation(table, name, folder, spec.scale, grid);
  OptionValues common;
  if (const toml::table* shared = table_of(table, "common", name)) {
    common = only_values(*shared, train_options(), name + ": [common]", folder);
  }
  const std::vector<Entry> samplers = read_training_samplers(table, name, folder);
  for (const Entry& model : read_trained_models(table, name, folder, spec)) {
    for (const Entry& sampler : samplers) {
      Cell cell = told_where(fmt::format("{}: {} by {}", name, model.label, sampler.label), [&] {
        return make_learning_cell(common, model, sampler, grid, spec, evaluation);
      });
      for (cell.repeat = 0; cell.repeat < grid.repeats; ++cell.repeat) {
        cell.learning->seed = spec.seed + cell.repeat;
        if (cell.evaluation) cell.evaluation->seed = cell.learning->seed;
        grid.cells.push_back(cell);
      }
      require(static_cast<int64_t>(grid.cells.size()) <= kMostCells, "{} has more than {} cells",
              name, kMostCells);
    }
  }
}

}  // namespace isinglass
