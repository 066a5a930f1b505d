// Models by name: what a parameter file holds and how to build the model from it.
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
  std::string name;  // of a model
  std::filesystem::path file;
};

// What can be said about a model: its parameters, and what they do not tell.
struct ModelOptions {
  std::filesystem::path weights = {};           // empty: none given
  std::optional<int64_t> sites = {};            // `sites`
  std::optional<int64_t> categories = {};       // `categories`
  std::optional<int64_t> label = {};            // `class`, of a classifier
  int64_t image_height = 28, image_width = 28;  // `image`
  std::vector<NamedFile> factors = {};          // `factors`
  std::optional<double> penalty = {};           // `penalty`: of a violated constraint
  bool continuous = false;  // the states of a model whose file does not say: mlp, script
  std::optional<NamedTensors> tensors = {};  // in memory, in place of a file of them

  // What errors call the parameters: the file.
  std::string source() const { return tensors ? "the parameters" : weights.string(); }
  ParameterReader reader() const;
};

// What a new, untrained model needs to know.
struct NewModelOptions {
  int64_t image_height = 28, image_width = 28;
  int64_t channels = 64;   // resnet
  int64_t hidden = 500;    // rbm
  int64_t categories = 0;  // of a site; 0: binary sites
  int64_t proj = 4;        // resnet: channels that categories are embedded in
  // Independent pixels of the data, or undefined: means float32 [D] inside (0, 1), frequencies [D, K] of
  // categorical ones. resnet contains them as its base distribution, rbm and ising start with biases
  // that have them.
  torch::Tensor base_mean = {};
  EdgeSet edges = EdgeSet::kAll;  // ising
  bool continuous = false;        // mlp: its states
  int64_t classes = 1;            // mlp: its outputs
};

struct ModelEntry {
  std::string name;
  std::string energy;       // one line: the formula
  std::string parameters;   // one line: keys and shapes of the parameter file
  std::string state_kinds;  // "binary", "categorical", …
  bool gradient;            // differentiable
  std::function<std::shared_ptr<EnergyModel>(const ModelOptions&)> load;
  // With fresh parameters from LibTorch's generator; null: cannot be trained.
  std::function<std::shared_ptr<EnergyModel>(const NewModelOptions&)> fresh = nullptr;
  bool weights = true;          // needs a parameter file
  bool classifier = false;      // may be one of a class: reads `label`
  bool constraints = false;     // reads `penalty`
  bool categorical = false;     // fresh: of categorical images, too
  bool any_continuous = false;  // reads `continuous`: its states are what that says

  bool trainable() const { return fresh != nullptr; }
};

const std::deque<ModelEntry>& model_registry();

// Adds an entry, whose name may be used from now on. Throws Error for a name that is taken.
void register_model(ModelEntry entry);

// The entry, or an Error that lists the known names, the nearest first.
const ModelEntry& find_model(const std::string& name);

// The model with the parameters of options.weights. Throws Error naming a missing, extra, misshapen
// or non-finite tensor.
std::shared_ptr<EnergyModel> load_model(const std::string& name, const ModelOptions& options);

// A trainable model (resnet, mlp, rbm) with fresh parameters from LibTorch's generator seeded by
// `seed`, which is left as it was.
std::shared_ptr<EnergyModel> new_model(const std::string& name, const NewModelOptions& options,
                                       uint64_t seed);

// `categories` of a model whose parameters do not say. Throws Error without.
int64_t needed_categories(const ModelOptions& options, const std::string& model);

// "did you mean" order: the known names by edit distance to `name`.
std::vector<std::string> nearest_first(const std::string& name, std::vector<std::string> known);

}  // namespace isinglass
