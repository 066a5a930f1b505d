// Registry of models by name: the contents of their parameter files, and how to build a model from
// one.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/pt/pt_file.h"
#include "models/energy_model.h"
#include "models/lattice/edge_set.h"
#include "models/parameter_file.h"

namespace isinglass {

struct NamedFile {
  std::string name;  // of a model in the registry
  std::filesystem::path file;
};

// Options that define a model: its parameters, and whatever these do not determine. The quoted
// words are the options' names.
struct ModelOptions {
  std::filesystem::path weights = {};           // empty if not given
  std::optional<int64_t> sites = {};            // `sites`
  std::optional<int64_t> categories = {};       // `categories`
  std::optional<int64_t> label = {};            // `class`, for a classifier
  int64_t image_height = 28, image_width = 28;  // `image`
  std::vector<NamedFile> factors = {};          // `factors`
  std::optional<double> penalty = {};           // `penalty` for a violated constraint
  bool continuous = false;  // the states, for models whose file does not say: mlp, script
  std::optional<NamedTensors> tensors = {};  // given in memory instead of a file

  // Returns the name of the parameters in errors: the file, or "the parameters".
  std::string source() const { return tensors ? "the parameters" : weights.string(); }
  ParameterReader reader() const;
};

// Options of a new, untrained model.
struct NewModelOptions {
  int64_t image_height = 28, image_width = 28;
  int64_t channels = 64;   // resnet
  int64_t hidden = 500;    // rbm
  int64_t categories = 0;  // K values a site; 0: binary sites
  int64_t proj = 4;        // resnet: channels that categories are embedded in
  // Independent-pixel statistics of the data, or undefined: means float32 [D] within (0, 1), or
  // frequencies [D, K] of categorical pixels. resnet contains them as its base distribution; rbm
  // and ising start with biases that reproduce them.
  torch::Tensor base_mean = {};
  EdgeSet edges = EdgeSet::kAll;  // ising
  bool continuous = false;        // mlp: continuous states
  int64_t classes = 1;            // mlp: number of outputs
};

struct ModelEntry {
  std::string name;
  std::string energy;       // one line: the formula
  std::string parameters;   // one line: keys and shapes of the parameter file
  std::string state_kinds;  // "binary", "categorical", …
  bool gradient;            // differentiable
  std::function<std::shared_ptr<EnergyModel>(const ModelOptions&)> load;
  // Makes a model with new parameters drawn from LibTorch's generator; null if it cannot be
  // trained.
  std::function<std::shared_ptr<EnergyModel>(const NewModelOptions&)> fresh = nullptr;
  bool weights = true;          // a parameter file is required
  bool classifier = false;      // may be a classifier: accepts `label`
  bool constraints = false;     // accepts `penalty`
  bool categorical = false;     // fresh() also makes models of categorical images
  bool any_continuous = false;  // accepts `continuous`, which sets the kind of its states

  bool trainable() const { return fresh != nullptr; }
};

const std::deque<ModelEntry>& model_registry();

// Adds an entry, whose name can be used from then on. Throws Error if the name is taken.
void register_model(ModelEntry entry);

// Returns the entry. Throws an Error that lists the known names, the most similar first.
const ModelEntry& find_model(const std::string& name);

// Returns the model with the parameters of options.weights. Throws Error naming a missing, extra,
// misshapen or non-finite tensor.
std::shared_ptr<EnergyModel> load_model(const std::string& name, const ModelOptions& options);

// Returns a trainable model (ModelEntry::trainable()) with new parameters. They are drawn from
// LibTorch's generator seeded by `seed`; the generator's state is restored afterwards.
std::shared_ptr<EnergyModel> new_model(const std::string& name, const NewModelOptions& options,
                                       uint64_t seed);

// Returns `categories` for a model whose parameters do not determine it. Throws Error if it is not
// given.
int64_t needed_categories(const ModelOptions& options, const std::string& model);

// Returns the known names sorted by edit distance to `name`, for "did you mean" messages.
std::vector<std::string> nearest_first(const std::string& name, std::vector<std::string> known);

}  // namespace isinglass
