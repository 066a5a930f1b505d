// Implements the registry: collects the entries that the functions of list.inc return, and checks
// options when a model is loaded.
#include "models/registry.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "io/error.h"
#include "models/near_name.h"
#include "models/parameter_file.h"
#include "models/scoped_torch_seed.h"
#include "models/states.h"

namespace isinglass {

#define ISINGLASS_MODELS(models) std::vector<ModelEntry> models();
#include "models/list.inc"
#undef ISINGLASS_MODELS

namespace {

std::deque<ModelEntry>& entries() {
  static std::deque<ModelEntry> all = [] {
    std::deque<ModelEntry> built_in;
#define ISINGLASS_MODELS(models) \
  for (ModelEntry & entry : models()) built_in.push_back(std::move(entry));
#include "models/list.inc"
#undef ISINGLASS_MODELS
    return built_in;
  }();
  return all;
}

}  // namespace

const std::deque<ModelEntry>& model_registry() {
  return entries();
}

void register_model(ModelEntry entry) {
  for (const ModelEntry& other : entries()) {
    require(other.name != entry.name, "a model '{}' is already registered", entry.name);
  }
  entries().push_back(std::move(entry));
}

const ModelEntry& find_model(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelEntry& entry : model_registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  fail("unknown model '{}'; known: {}", name, fmt::join(nearest_first(name, names), ", "));
}

ParameterReader ModelOptions::reader() const {
  return tensors ? ParameterReader(source(), *tensors) : ParameterReader(weights);
}

std::shared_ptr<EnergyModel> load_model(const std::string& name, const ModelOptions& options) {
  const ModelEntry& entry = find_model(name);
  require_options(!entry.weights || options.tensors || !options.weights.empty(),
                  "model {} needs `weights` FILE with {}", name, entry.parameters);
  require_options(!options.label || entry.classifier,
                  "`class` is given, but {} is not a classifier", name);
  const int64_t categories = options.categories.value_or(2);
  require_option(categories >= 2 && categories <= kMostCategories, "categories", categories,
                 "2 to {} are allowed", kMostCategories);
  const std::shared_ptr<EnergyModel> model = [&] {
    // Networks draw initial values, which the loaded parameters then replace.
    const ScopedTorchSeed initial(0);
    return entry.load(options);
  }();
  const StateSpace space = model->space();
  require(space.sites >= 1, "{}: the model has no sites", options.source());
  check_space(space, options.source());
  require_options(!options.sites || *options.sites == space.sites,
                  "`sites` is {}, but {} has {} sites", options.sites.value_or(0), options.source(),
                  space.sites);
  require_options(!options.categories || space.discrete(),
                  "`categories` is {}, but the states of model {} are continuous",
                  options.categories.value_or(0), name);
  require_options(!options.categories || *options.categories == space.categories,
                  "`categories` is {}, but {} has {}", options.categories.value_or(0),
                  options.source(), space.categories);
  require_options(!options.penalty || entry.constraints,
                  "`penalty` is {}, but model {} has no constraints", options.penalty.value_or(0),
                  name);
  return model;
}

std::shared_ptr<EnergyModel> new_model(const std::string& name, const NewModelOptions& options,
                                       uint64_t seed) {
  const ModelEntry& entry = find_model(name);
  require(entry.trainable(), "model {} cannot be trained", name);
  require(entry.any_continuous || !options.continuous,
          "model {} has no continuous states; mlp has them", name);
  const ScopedTorchSeed generator(seed);
  return entry.fresh(options);
}

int64_t needed_categories(const ModelOptions& options, const std::string& model) {
  require_options(options.categories.has_value(),
                  "model {} needs `categories` K, because its parameters do not determine it",
                  model);
  return *options.categories;
}

std::vector<std::string> nearest_first(const std::string& name, std::vector<std::string> known) {
  std::stable_sort(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  return known;
}

}  // namespace isinglass
