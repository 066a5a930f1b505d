// See grid.h.
#include "cli/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/commands.h"
#include "cli/metrics.h"
#include "cli/shared_options.h"
#include "cli/toml.h"
#include "engine/sampler.h"
#include "models/instances.h"
#include "models/registry.h"

namespace isinglass {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostCells = 100000;

void check_keys(const toml::table& table, const std::string& where,
                const std::vector<std::string>& known) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    require(std::find(known.begin(), known.end(), name) != known.end(),
            "{}: unknown key '{}'; known: {}", where, name,
            fmt::join(nearest_first(name, known), ", "));
  }
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

// All combinations of the table's lists, the last key fastest.
std::vector<Flags> combinations(const toml::table& table, const std::string& where) {
  std::vector<Flags> all = {{}};
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const bool tables = node.is_array() && !node.as_array()->empty() &&
                        node.as_array()->is_homogeneous(toml::node_type::table);
    if (node.is_table() || tables || name == "label" || name == "published") continue;
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

std::string* find(Flags& flags, const std::string& name) {
  for (auto& [key, value] : flags) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string value_or(Flags& flags, const std::string& name, const std::string& otherwise) {
  const std::string* value = find(flags, name);
  return value ? *value : otherwise;
}

// Later flags stand for earlier ones of the same name.
void override(Flags& flags, const Flags& more) {
  for (const auto& [name, value] : more) {
    if (std::string* old = find(flags, name)) {
      *old = value;
    } else {
      flags.emplace_back(name, value);
    }
  }
}

// Numbers that --scale makes smaller, never below `least` where they were above it; chains stay
// whole groups.
void scale_down(Flags& flags, double scale, const std::vector<std::string>& fixed = {},
                int64_t group = 1) {
  const std::vector<std::pair<std::string, int64_t>> least = {
      {"chains", 4}, {"steps", 200}, {"calls", 200}, {"burn-in", 100}, {"iters", 50}};
  for (const auto& [name, floor] : least) {
    std::string* text = find(flags, name);
    if (std::find(fixed.begin(), fixed.end(), name) != fixed.end()) continue;
    if (!text || text->find_first_not_of("0123456789") != std::string::npos) continue;
    const double given = std::strtod(text->c_str(), nullptr);
    const auto multiple = static_cast<double>(name == "chains" ? group : 1);
    const double scaled = multiple * std::round(given * std::sqrt(scale) / multiple);
    *text = fmt::format("{:.0f}", std::min(given, std::max(scaled, static_cast<double>(floor))));
  }
}

// What may be known to be wrong before anything runs.
void check_cell(const Cell& cell, const std::string& where) {
  try {
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

Flags without(const Flags& flags, const std::string& name) {
  Flags kept;
  std::copy_if(flags.begin(), flags.end(), std::back_inserter(kept),
               [&](const auto& flag) { return flag.first != name; });
  return kept;
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
  const std::string instance = value_or(model.flags, "instance", "");
  model.label += ", " + published;
  model.flags = without(model.flags, "instance");
  override(model.flags,
           {{"model", make_instance(instance)->kind_name()}, {"weights", file.string()}});
}

// [models.train], or every [[models.train]].
std::vector<Flags> read_training(const toml::table& table, const std::string& where,
                                 const GridOptions& options) {
  std::vector<Flags> all;
  const auto add = [&](const toml::table& train) {
    all.push_back(combinations(train, where + " train").front());
    override(all.back(), options.data);
    scale_down(all.back(), options.scale);
  };
  if (const toml::table* one = table["train"].as_table()) add(*one);
  if (const toml::array* several = table["train"].as_array()) {
    for (const toml::node& node : *several) {
      require(node.is_table(), "{}: train is no table", where);
      add(*node.as_table());
    }
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
  const toml::table* modes = table["modes"].as_table();
  if (!modes) return {};
  check_keys(*modes, where + " modes", {"right", "wrong", "radius"});
  std::vector<torch::Tensor> points;
  read_points(modes->get("right"), where + " modes: right", points);
  const auto right = static_cast<int64_t>(points.size());
  require(right > 0, "{} modes: right is missing", where);
  read_points(modes->get("wrong"), where + " modes: wrong", points);
  Modes read{torch::stack(points), torch::arange(static_cast<int64_t>(points.size())) < right};
  read.radius = (*modes)["radius"].value_or(read.radius);
  return read;
}

// An entry without label, weights and instance is named by what it trains.
std::string model_label(const toml::table& table, Flags& flags, std::vector<Flags>& training) {
  if (const auto label = table["label"].value<std::string>()) return *label;
  const std::string trained = training.empty() ? "" : value_or(training.front(), "model", "");
  const std::string file = fs::path(value_or(flags, "weights", trained)).filename().string();
  return value_or(flags, "instance", file);
}

std::vector<ModelEntryFlags> read_models(const toml::table& grid, const std::string& name,
                                         const fs::path& folder, const GridOptions& options) {
  std::vector<ModelEntryFlags> models;
  for (const toml::node& node : entries(grid, "models", name)) {
    const toml::table* table = node.as_table();
    const std::string where = fmt::format("{}: [[models]]", name);
    const toml::table* otherwise = (*table)["otherwise"].as_table();
    if (otherwise && !options.has_fashion_mnist) table = otherwise;
    std::vector<Flags> training = read_training(*table, where, options);
    const Modes modes = read_modes(*table, where);
    for (Flags flags : combinations(*table, where)) {
      if (std::string* weights = find(flags, "weights")) *weights = (folder / *weights).string();
      if (find(flags, "dataset")) override(flags, options.data);
      const bool given = training.size() == 1 && !options.weights.empty();
      if (given) {
        override(flags, {{"model", value_or(training.front(), "model", "resnet")},
                         {"weights", options.weights.string()}});
      }
      models.push_back({model_label(*table, flags, training), flags,
                        given ? std::vector<Flags>{} : training, modes});
      if (const auto published = (*table)["published"].value<std::string>()) {
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

std::vector<SamplerEntryFlags> read_samplers(const toml::table& grid, const std::string& name) {
  std::vector<SamplerEntryFlags> samplers;
  for (const toml::node& node : entries(grid, "samplers", name)) {
    const auto label = (*node.as_table())["label"].value<std::string>();
    for (Flags& flags : combinations(*node.as_table(), name + ": [[samplers]]")) {
      const std::string sampler = value_or(flags, "sampler", "");
      samplers.push_back({label.value_or(sampler), std::move(flags)});
    }
  }
  return samplers;
}

// `calls` as `steps`, by the sampler's leapfrog steps a step. Returns the calls, 0 without any.
int64_t divide_calls(Flags& flags) {
  const std::string* given = find(flags, "calls");
  if (!given) return 0;
  const int64_t calls = std::atoll(given->c_str());
  const SamplerOptionUse* leapfrog =
      find_sampler(value_or(flags, "sampler", "")).option("leapfrog");
  const std::string a_step =
      value_or(flags, "leapfrog", leapfrog ? fmt::format("{}", *leapfrog->initial) : "1");
  const int64_t steps = calls / std::max<int64_t>(1, std::atoll(a_step.c_str()));
  override(flags, {{"steps", std::to_string(std::max<int64_t>(1, steps))}});
  std::erase_if(flags, [](const auto& flag) { return flag.first == "calls"; });
  return calls;
}

Cell make_cell(const Flags& common, const ModelEntryFlags& model,
               const SamplerEntryFlags& sampler) {
  Cell cell{.model = model.label,
            .sampler = sampler.label,
            .settings = without(sampler.flags, "sampler"),
            .sampling = common,
            .training = model.training,
            .modes = model.modes};
  for (const Flags& more : {model.flags, sampler.flags}) override(cell.sampling, more);
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
    check_keys(table, where, {"text", "rule", "metric", "axis", "who", "than", "models"});
    Claim claim{.text = table["text"].value_or(std::string()),
                .rule = table["rule"].value_or(std::string()),
                .metric = table["metric"].value_or(std::string()),
                .axis = table["axis"].value_or(std::string()),
                .who = text_list(table, "who", where),
                .than = text_list(table, "than", where),
                .models = text_list(table, "models", where)};
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

std::vector<std::string> arguments_of(const Flags& flags) {
  std::vector<std::string> arguments;
  for (const auto& [name, value] : flags) arguments.push_back("--" + name + "=" + value);
  return arguments;
}

std::string settings_text(const Flags& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

Grid read_grid(const std::string& text, const std::string& name, const fs::path& folder,
               const GridOptions& options) {
  const toml::table table = parse_toml(text, name);
  check_keys(table, name,
             {"title", "repeats", "mean", "reference", "fixed", "pictures", "common", "models",
              "samplers", "claims"});
  Grid grid{.name = name, .title = table["title"].value_or(std::string(name))};
  grid.true_mean = table["mean"].value<double>();
  const std::string reference = table["reference"].value_or(std::string());
  require(reference.empty() || reference == "block-gibbs",
          "{}: reference is '{}'; block-gibbs is known", name, reference);
  grid.reference = !reference.empty();
  const int64_t repeats = table["repeats"].value_or(int64_t{1});
  require(repeats >= 1 && repeats <= kMostCells, "{}: repeats is {}; 1 to {} are allowed", name,
          repeats, kMostCells);
  const toml::table* shared = table["common"].as_table();
  require(shared, "{}: it needs [common] with at least steps", name);
  const std::vector<Flags> common = combinations(*shared, name + ": [common]");
  require(common.size() == 1, "{}: [common] holds a list", name);
  if (const auto size = table["pictures"].value<std::string>()) {
    grid.picture = height_and_width(*size, name + ": pictures");
  }
  const std::vector<std::string> fixed = text_list(table, "fixed", name);
  const std::vector<SamplerEntryFlags> samplers = read_samplers(table, name);
  for (const ModelEntryFlags& model : read_models(table, name, folder, options)) {
    for (const SamplerEntryFlags& sampler : samplers) {
      Cell cell = make_cell(common.front(), model, sampler);
      scale_down(cell.sampling, options.scale, fixed, largest_group(samplers));
      cell.calls = divide_calls(cell.sampling);
      check_cell(cell, fmt::format("{}: {} by {}", name, cell.model, cell.sampler));
      for (cell.repeat = 0; cell.repeat < repeats; ++cell.repeat) {
        override(cell.sampling, {{"seed", std::to_string(options.seed + cell.repeat)}});
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
