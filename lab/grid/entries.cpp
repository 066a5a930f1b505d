// Implements the reading of entries from TOML and the changes of their options.
#include "lab/grid/entries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/registry.h"
#include "engine/sampler.h"
#include "lab/spec/configuration.h"
#include "lab/spec/field.h"
#include "models/registry.h"

namespace isinglass {

namespace fs = std::filesystem;

void check_keys(const toml::table& table, const std::string& where,
                const std::vector<std::string>& known) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    require(std::find(known.begin(), known.end(), name) != known.end(),
            "{}: unknown key '{}'; known: {}", where, name,
            fmt::join(nearest_first(name, known), ", "));
  }
}

std::optional<std::string> text_of(const toml::table& table, const std::string& key,
                                   const std::string& where) {
  return value_of<std::string>(table, key, where, "a string");
}

const toml::table* table_of(const toml::table& table, const std::string& key,
                            const std::string& where) {
  const toml::node* node = table.get(key);
  require(!node || node->is_table(), "{}: {} must be a table", where, key);
  return node ? node->as_table() : nullptr;
}

namespace {

// Returns the nodes of a key: a single one, or those of its list.
std::vector<const toml::node*> nodes_of(const toml::node& node, const std::string& where,
                                        const std::string& key) {
  std::vector<const toml::node*> nodes;
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& element : *list) nodes.push_back(&element);
    require(!nodes.empty(), "{}: {} is an empty list", where, key);
  } else {
    nodes.push_back(&node);
  }
  for (const toml::node* one : nodes) {
    require(one->is_string() || one->is_number() || one->is_boolean(),
            "{}: {} must be a string, a number, true or false", where, key);
  }
  return nodes;
}

}  // namespace

std::vector<std::string> text_list(const toml::table& table, const std::string& key,
                                   const std::string& where) {
  std::vector<std::string> texts;
  const toml::node* list = table.get(key);
  if (!list) return texts;
  for (const toml::node* node : nodes_of(*list, where, key)) {
    const auto text = node->value<std::string>();
    require(text.has_value(), "{}: {} must be a string or a list of strings", where, key);
    texts.push_back(*text);
  }
  return texts;
}

ScaledEntry at_scale(const toml::table& entry, double scale, const std::string& where) {
  const toml::table* small = table_of(entry, "small", where);
  if (!small) return {entry};
  const auto below = value_of<double>(*small, "below", where + " small", "a number");
  require(below.has_value(), "{} small: below is missing", where);
  const auto label = text_of(entry, "label", where);
  require(label && text_of(*small, "label", where),
          "{} small: the entry and its smaller variant each need a label", where);
  if (scale >= *below) return {entry};
  return {*small, *label};
}

const toml::array& entries(const toml::table& grid, const std::string& key,
                           const std::string& name) {
  const toml::array* list = grid[key].as_array();
  require(list && !list->empty() && list->is_homogeneous(toml::node_type::table),
          "{}: the grid needs at least one table [[{}]]", name, key);
  return *list;
}

const EntryOptions& sample_options() {
  static const EntryOptions options = [] {
    EntryOptions all{options_of<SampleSpec>(), "sample"};
    all.table.push_back({.name = "calls", .type = ValueType::kInteger, .unit = "N", .minimum = 1});
    return all;
  }();
  return options;
}

const EntryOptions& train_options() {
  static const EntryOptions options{options_of<TrainSpec>(), "train"};
  return options;
}

const EntryOptions& evaluate_options() {
  static const EntryOptions options{options_of<EvaluateSpec>(), "evaluate"};
  return options;
}

std::vector<OptionValues> combinations(const toml::table& table, const EntryOptions& options,
                                       const std::string& where, const fs::path& folder,
                                       const std::vector<std::string>& others) {
  std::vector<OptionValues> all = {{}};
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::find(others.begin(), others.end(), name) != others.end()) continue;
    const std::vector<const toml::node*> nodes = nodes_of(node, where, name);
    const Option* option = find_option(options.table, name);
    require(option, "{}: unknown key '{}'{}", where, name,
            known_options(options.table, name, options.who));
    std::vector<OptionValues> longer;
    for (const OptionValues& values : all) {
      for (const toml::node* one : nodes) {
        OptionValue value = toml_value(*option, *one, where);
        told_where(where, [&] { check_value(*option, value); });
        longer.push_back(values);
        longer.back().emplace(name, std::move(value));
      }
    }
    require(static_cast<int64_t>(longer.size()) <= kMostCells, "{} has more than {} combinations",
            where, kMostCells);
    all = std::move(longer);
  }
  for (OptionValues& values : all) values = starting_at(folder, options.table, std::move(values));
  return all;
}

void override_values(OptionValues& values, const OptionValues& more) {
  for (const auto& [name, value] : more) values.insert_or_assign(name, value);
}

std::string text_or(const OptionValues& values, const std::string& name,
                    const std::string& otherwise) {
  const auto found = values.find(name);
  return found == values.end() ? otherwise : value_text(found->second);
}

void scale_options(const std::vector<ScaleRule>& rules, double scale, OptionValues& values,
                   int64_t group) {
  for (const ScaleRule& rule : rules) {
    const auto found = values.find(rule.option);
    if (found == values.end()) continue;
    const double factor = std::pow(scale, rule.exponent);
    if (auto* real = std::get_if<double>(&found->second)) {
      *real *= factor;
    } else {
      auto& whole = std::get<int64_t>(found->second);
      const auto given = static_cast<double>(whole);
      const auto multiple = static_cast<double>(rule.option == "chains" ? group : 1);
      const double scaled = std::max(multiple * std::round(given * factor / multiple), rule.least);
      whole = std::llround(factor > 1 ? scaled : std::min(given, scaled));
    }
  }
}

std::vector<ScaleRule> sampling_rules(const std::vector<std::string>& fixed) {
  std::vector<ScaleRule> rules = {{"chains", 0.5, 10},
                                  {"steps", 0.5, 200},
                                  {"calls", 0.5, 200},
                                  {"burn-in", 0.5, 100},
                                  {"iters", 0.5, 50}};
  std::erase_if(rules, [&](const ScaleRule& rule) {
    return std::find(fixed.begin(), fixed.end(), rule.option) != fixed.end();
  });
  return rules;
}

int64_t divide_calls(OptionValues& values) {
  const auto found = values.find("calls");
  if (found == values.end()) return 0;
  const int64_t calls = std::get<int64_t>(found->second);
  values.erase(found);
  const SamplerOptionUse* own = find_sampler(text_or(values, "sampler", "")).option("leapfrog");
  double leapfrog = own ? *own->initial : 1;
  const auto said = values.find("leapfrog");
  if (said != values.end()) leapfrog = std::get<double>(said->second);
  const int64_t steps = calls / std::max<int64_t>(1, static_cast<int64_t>(leapfrog));
  values["steps"] = std::max<int64_t>(1, steps);
  return calls;
}

}  // namespace isinglass
