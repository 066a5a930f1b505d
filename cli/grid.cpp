// See grid.h.
#include "cli/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/commands/commands.h"
#include "lab/grid/metrics.h"
#include "cli/options/shared_options.h"
#include "lab/toml.h"
#include "engine/sampler.h"
#include "models/instances/instances.h"
#include "models/registry.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostCells = 100000;
const std::vector<std::string> kModelKeys = {"label", "published", "train", "otherwise", "modes"};

void check_keys(const toml::table& table, const std::string& where,
                const std::vector<std::string>& known) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    require(std::find(known.begin(), known.end(), name) != known.end(),
            "{}: unknown key '{}'; known: {}", where, name,
            fmt::join(nearest_first(name, known), ", "));
  }
}

// The value of a key, `words` ("a text"); none if the key is not there.
template <class T>
std::optional<T> value_of(const toml::table& table, const std::string& key,
                          const std::string& where, const char* words) {
  const toml::node* node = table.get(key);
  const auto value = node ? node->value<T>() : std::nullopt;
  require(!node || value.has_value(), "{}: {} must be {}", where, key, words);
  return value;
}

std::optional<std::string> text_of(const toml::table& table, const std::string& key,
                                   const std::string& where) {
  return value_of<std::string>(table, key, where, "a text");
}

// Null if the key is not there.
const toml::table* table_of(const toml::table& table, const std::string& key,
                            const std::string& where) {
  const toml::node* node = table.get(key);
  require(!node || node->is_table(), "{}: {} is no table", where, key);
  return node ? node->as_table() : nullptr;
}

std::string value_text(const toml::node& node, const std::string& where, const std::string& key) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto whole = node.value_exact<int64_t>()) return std::to_string(*whole);
  if (const auto real = node.value_exact<double>()) return fmt::format("{}", *real);
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  fail("{}: {} is neither a text, a number nor true or false", where, key);
}

std::vector<std::string> values_of(const toml::node& node, const std::string& where,
                                   const std::string& key) {
  if (!node.is_array()) return {value_text(node, where, key)};
  std::vector<std::string> values;
  for (const toml::node& element : *node.as_array()) {
    values.push_back(value_text(element, where, key));
  }
  require(!values.empty(), "{}: {} is an empty list", where, key);
  return values;
}

// All combinations of the table's lists, the last key fastest; `others` are no flags.
std::vector<Flags> combinations(const toml::table& table, const std::string& where,
                                const std::vector<std::string>& others = {}) {
  std::vector<Flags> all = {{}};
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::find(others.begin(), others.end(), name) != others.end()) continue;
    std::vector<Flags> longer;
    for (const Flags& flags : all) {
      for (const std::string& value : values_of(node, where, name)) {
        longer.push_back(flags);
        longer.back().emplace_back(name, value);
      }
    }
    require(static_cast<int64_t>(longer.size()) <= kMostCells, "{}: more than {} combinations",
            where, kMostCells);
    all = std::move(longer);
  }
  return all;
}

const toml::array& entries(const toml::table& grid, const std::string& key,
                           const std::string& name) {
  const toml::array* list = grid[key].as_array();
  require(list && !list->empty() && list->is_homogeneous(toml::node_type::table),
          "{}: it needs entries [[{}]]", name, key);
  return *list;
}

// What may be known to be wrong before anything runs.
void check_cell(const Cell& cell, const std::string& where) {
  try {
    for (const auto& [flag, value] : cell.sampling) {
      require(flag != "seed", "seed = {}: seeds come from --seed and the number of the repeat",
              value);
    }
    const Options sample = parse_options(find_command("sample"), arguments_of(cell.sampling));
    find_sampler(sample.text("sampler"));
    require(sample.has("steps"), "--steps is required");
    if (sample.has("instance")) check_instance(sample.text("instance"));
    if (sample.has("model")) find_model(sample.text("model"));
    if (sample.has("weights")) {
      require(fs::is_regular_file(sample.path("weights")), "--weights {} is no file",
              sample.text("weights"));
    } else if (cell.training.empty()) {
      require(sample.has("instance") || sample.has("factors"),
              "the model needs an instance, weights, factors or training");
    }
    for (const Flags& training : cell.training) {
      parse_options(find_command("train"), arguments_of(training));
    }
  } catch (const Error& error) {
    fail("{}: {}", where, error.what());
  }
}

struct ModelEntryFlags {
  std::string label;
  Flags flags;
  std::vector<Flags> training;
  Modes modes;
};

// A model whose parameters are published as a file: that file where the data directory has it, else
// the instance that stands for it. The label tells which.
void take_published(ModelEntryFlags& model, const std::string& published, const fs::path& data) {
  const fs::path file = fs::absolute(data / published);
  if (!fs::is_regular_file(file)) {
    model.label += ", generated";
    return;
  }
  const std::string instance = flag_or(model.flags, "instance", "");
  model.label += ", " + published;
  model.flags = without_flag(model.flags, "instance");
  override_flags(model.flags,
                 {{"model", make_instance(instance)->kind_name()}, {"weights", file.string()}});
}

// [models.train], or every [[models.train]].
std::vector<Flags> read_training(const toml::table& table, const std::string& where,
                                 const fs::path& folder, const GridOptions& options) {
  std::vector<Flags> all;
  const auto add = [&](const toml::table& train) {
    const std::vector<Flags> flags = combinations(train, where + " train");
    require(flags.size() == 1, "{} train holds a list", where);
    all.push_back(flags.front());
    start_files_at(folder, find_command("train"), all.back());
    override_flags(all.back(), options.data);
    scale_down(all.back(), options.scale);
  };
  if (const toml::array* several = table["train"].as_array()) {
    for (const toml::node& node : *several) {
      require(node.is_table(), "{}: train is no table", where);
      add(*node.as_table());
    }
  } else if (const toml::table* one = table_of(table, "train", where)) {
    add(*one);
  }
  return all;
}

// Rows of numbers, appended.
void read_points(const toml::node* node, const std::string& where,
                 std::vector<torch::Tensor>& rows) {
  if (!node) return;
  require(node->is_array(), "{}: it is no list of points [x, y, …]", where);
  for (const toml::node& point : *node->as_array()) {
    std::vector<double> numbers;
    require(point.is_array(), "{}: a point is a list of numbers", where);
    for (const toml::node& number : *point.as_array()) {
      const auto value = number.value<double>();
      require(value.has_value(), "{}: a point is a list of numbers", where);
      numbers.push_back(*value);
    }
    rows.push_back(torch::tensor(numbers, torch::kFloat64));
    require(rows.back().sizes() == rows.front().sizes(), "{}: points differ in length", where);
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
  read.radius =
      value_of<double>(*modes, "radius", where + " modes", "a number").value_or(read.radius);
  return read;
}

// An entry without label, weights and instance is named by what it trains.
std::string model_label(const toml::table& table, const std::string& where, Flags& flags,
                        std::vector<Flags>& training) {
  if (const auto label = text_of(table, "label", where)) return *label;
  const std::string trained = training.empty() ? "" : flag_or(training.front(), "model", "");
  const std::string file = fs::path(flag_or(flags, "weights", trained)).filename().string();
  return flag_or(flags, "instance", file);
}

std::vector<ModelEntryFlags> read_models(const toml::table& grid, const std::string& name,
                                         const fs::path& folder, const GridOptions& options) {
  std::vector<ModelEntryFlags> models;
  for (const toml::node& node : entries(grid, "models", name)) {
    const toml::table* table = node.as_table();
    const std::string where = fmt::format("{}: [[models]]", name);
    const toml::table* otherwise = table_of(*table, "otherwise", where);
    if (otherwise && !options.has_fashion_mnist) table = otherwise;
    std::vector<Flags> training = read_training(*table, where, folder, options);
    const Modes modes = read_modes(*table, where);
    for (Flags flags : combinations(*table, where, kModelKeys)) {
      start_files_at(folder, find_command("sample"), flags);
      if (find_flag(flags, "dataset")) override_flags(flags, options.data);
      const bool given = training.size() == 1 && !options.weights.empty();
      if (given) {
        override_flags(flags, {{"model", flag_or(training.front(), "model", "resnet")},
                               {"weights", options.weights.string()}});
      }
      models.push_back({model_label(*table, where, flags, training), flags,
                        given ? std::vector<Flags>{} : training, modes});
      if (const auto published = text_of(*table, "published", where)) {
        take_published(models.back(), *published, options.files);
      }
    }
  }
  return models;
}

struct SamplerEntryFlags {
  std::string label;
  Flags flags;
};

// Chains of the largest group that a sampler moves together.
int64_t largest_group(const std::vector<SamplerEntryFlags>& samplers) {
  int64_t largest = 1;
  for (const SamplerEntryFlags& sampler : samplers) {
    for (const auto& [name, value] : sampler.flags) {
      if (name == "group") largest = std::max<int64_t>(largest, std::atoll(value.c_str()));
    }
  }
  return largest;
}

std::vector<SamplerEntryFlags> read_samplers(const toml::table& grid, const std::string& name,
                                             const fs::path& folder) {
  std::vector<SamplerEntryFlags> samplers;
  for (const toml::node& node : entries(grid, "samplers", name)) {
    const std::string where = name + ": [[samplers]]";
    const auto label = text_of(*node.as_table(), "label", where);
    for (Flags& flags : combinations(*node.as_table(), where, {"label"})) {
      start_files_at(folder, find_command("sample"), flags);
      const std::string sampler = flag_or(flags, "sampler", "");
      samplers.push_back({label.value_or(sampler), std::move(flags)});
    }
  }
  return samplers;
}

Cell make_cell(const Flags& common, const ModelEntryFlags& model,
               const SamplerEntryFlags& sampler) {
  Cell cell{.model = model.label,
            .sampler = sampler.label,
            .settings = without_flag(sampler.flags, "sampler"),
            .sampling = common,
            .training = model.training,
            .modes = model.modes};
  for (const Flags& more : {model.flags, sampler.flags}) override_flags(cell.sampling, more);
  return cell;
}

std::vector<std::string> text_list(const toml::table& table, const std::string& key,
                                   const std::string& where) {
  const toml::node* node = table.get(key);
  return node ? values_of(*node, where, key) : std::vector<std::string>{};
}

std::vector<Claim> read_claims(const toml::table& grid, const std::string& name) {
  std::vector<Claim> claims;
  if (!grid.contains("claims")) return claims;
  for (const toml::node& node : entries(grid, "claims", name)) {
    const toml::table& table = *node.as_table();
    const std::string where = fmt::format("{}: [[claims]]", name);
    check_keys(table, where, {"text", "rule", "metric", "axis", "who", "than", "models", "margin"});
    const auto text = [&](const char* key) { return text_of(table, key, where).value_or(""); };
    Claim claim{.text = text("text"),
                .rule = text("rule"),
                .metric = text("metric"),
                .axis = text("axis"),
                .who = text_list(table, "who", where),
                .than = text_list(table, "than", where),
                .models = text_list(table, "models", where)};
    claim.margin = value_of<double>(table, "margin", where, "a number").value_or(claim.margin);
    require(claim.margin >= 0 && claim.margin < 1, "{}: margin is {}; a share from 0 to 1", where,
            claim.margin);
    const auto& rules = claim_rules();
    require(std::find(rules.begin(), rules.end(), claim.rule) != rules.end(),
            "{}: unknown rule '{}'; known: {}", where, claim.rule,
            fmt::join(nearest_first(claim.rule, rules), ", "));
    find_metric(claim.metric, where);
    require(!claim.text.empty() && !claim.who.empty() && !claim.than.empty(),
            "{}: text, who and than are needed", where);
    require((claim.rule == "degrades-less") == !claim.axis.empty(),
            "{}: axis goes with the rule degrades-less", where);
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace

Grid read_grid(const std::string& text, const std::string& name, const fs::path& folder,
               const GridOptions& options) {
  const toml::table table = parse_toml(text, name);
  check_keys(table, name,
             {"title", "repeats", "mean", "reference", "fixed", "pictures", "common", "models",
              "samplers", "claims"});
  Grid grid{.name = name, .title = text_of(table, "title", name).value_or(name)};
  grid.true_mean = value_of<double>(table, "mean", name, "a number");
  const std::string reference = text_of(table, "reference", name).value_or("");
  require(reference.empty() || reference == "block-gibbs",
          "{}: reference is '{}'; block-gibbs is known", name, reference);
  grid.reference = !reference.empty();
  const int64_t repeats = value_of<int64_t>(table, "repeats", name, "a whole number").value_or(1);
  require(repeats >= 1 && repeats <= kMostCells, "{}: repeats is {}; 1 to {} are allowed", name,
          repeats, kMostCells);
  const toml::table* shared = table_of(table, "common", name);
  require(shared, "{}: it needs [common] with at least steps", name);
  std::vector<Flags> common = combinations(*shared, name + ": [common]");
  require(common.size() == 1, "{}: [common] holds a list", name);
  start_files_at(folder, find_command("sample"), common.front());
  if (const auto size = text_of(table, "pictures", name)) {
    grid.picture = height_and_width(*size, name + ": pictures");
  }
  const std::vector<std::string> fixed = text_list(table, "fixed", name);
  const std::vector<SamplerEntryFlags> samplers = read_samplers(table, name, folder);
  for (const ModelEntryFlags& model : read_models(table, name, folder, options)) {
    for (const SamplerEntryFlags& sampler : samplers) {
      Cell cell = make_cell(common.front(), model, sampler);
      scale_down(cell.sampling, options.scale, fixed, largest_group(samplers));
      cell.calls = divide_calls(cell.sampling);
      check_cell(cell, fmt::format("{}: {} by {}", name, cell.model, cell.sampler));
      for (cell.repeat = 0; cell.repeat < repeats; ++cell.repeat) {
        override_flags(cell.sampling, {{"seed", std::to_string(options.seed + cell.repeat)}});
        grid.cells.push_back(cell);
      }
      require(static_cast<int64_t>(grid.cells.size()) <= kMostCells, "{}: more than {} cells", name,
              kMostCells);
    }
  }
  grid.claims = read_claims(table, name);
  return grid;
}

}  // namespace isinglass
