// The models by name: those of list.inc, whose sources hold the entries.
#include "models/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "io/error.h"
#include "models/lattice/graph_problem.h"
#include "models/parameter_file.h"

namespace isinglass {

#define ISINGLASS_MODELS(models) std::vector<ModelEntry> models();
#include "models/list.inc"
#undef ISINGLASS_MODELS

const std::vector<ModelEntry>& model_registry() {
  static const std::vector<ModelEntry> entries = [] {
    std::vector<ModelEntry> all;
#define ISINGLASS_MODELS(models) \
  for (ModelEntry & entry : models()) all.push_back(std::move(entry));
#include "models/list.inc"
#undef ISINGLASS_MODELS
    return all;
  }();
  return entries;
}

const ModelEntry& find_model(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelEntry& entry : model_registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  fail("unknown model '{}'; known: {}", name, fmt::join(nearest_first(name, names), ", "));
}

std::shared_ptr<EnergyModel> load_model(const std::string& name, const ModelOptions& options) {
  const ModelEntry& entry = find_model(name);
  require(!entry.weights || !options.weights.empty(), "model {} needs --weights FILE with {}", name,
          entry.parameters);
  require(!options.label || name == "mlp" || name == "script",
          "--class is given, but {} is no classifier", name);
  const int64_t categories = options.categories.value_or(2);
  require(categories >= 2 && categories <= kMostCategories,
          "--categories is {}; 2 to {} are allowed", categories, kMostCategories);
  const std::shared_ptr<EnergyModel> model = entry.load(options);
  const StateSpace space = model->space();
  require(space.sites >= 1, "{}: the model has no sites", options.weights.string());
  require(!options.sites || *options.sites == space.sites, "--sites is {} and {} has {} sites",
          options.sites.value_or(0), options.weights.string(), space.sites);
  require(!options.categories || space.discrete(),
          "--categories is {}, but the states of model {} are continuous",
          options.categories.value_or(0), name);
  require(!options.categories || *options.categories == space.categories,
          "--categories is {} and {} has {}", options.categories.value_or(0),
          options.weights.string(), space.categories);
  const auto* problem = dynamic_cast<const GraphProblem*>(model.get());
  require(!options.penalty || (problem && problem->penalty() > 0),
          "--penalty is {}, but model {} has no constraints", options.penalty.value_or(0), name);
  return model;
}

std::shared_ptr<EnergyModel> new_model(const std::string& name, const NewModelOptions& options,
                                       uint64_t seed) {
  const ModelEntry& entry = find_model(name);
  require(entry.trainable(), "model {} cannot be trained", name);
  const bool continuous = entry.state_kinds.find("continuous") != std::string::npos;
  require(continuous || !options.continuous, "model {} has no continuous states; mlp has", name);
  torch::manual_seed(seed);
  return entry.fresh(options);
}

int64_t needed_categories(const ModelOptions& options, const std::string& model) {
  require(options.categories.has_value(),
          "model {} needs --categories K: its parameters do not say", model);
  return *options.categories;
}

std::vector<std::string> nearest_first(const std::string& name, std::vector<std::string> known) {
  const auto distance = [&name](const std::string& other) {  // Levenshtein
    std::vector<size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= name.size(); ++i) {
      size_t diagonal = row[0]++;
      for (size_t j = 1; j <= other.size(); ++j) {
        const size_t substituted = diagonal + (name[i - 1] != other[j - 1]);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
      }
    }
    return row.back();
  };
  std::stable_sort(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return distance(a) < distance(b);
  });
  return known;
}

}  // namespace isinglass
