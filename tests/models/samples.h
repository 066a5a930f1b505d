// One small parameter file's content for every model of the registry, and its energy by plain loops
// in double precision, which share no arithmetic with the models.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/pt/pt_file.h"
#include "models/registry.h"

namespace isinglass {

using Values = std::vector<int>;         // one discrete state
using RealValues = std::vector<double>;  // one continuous state

struct ModelSample {
  std::string label = {};     // unique, a test's name
  std::string model = {};     // the registry's name
  NamedTensors tensors = {};  // the parameter file
  ModelOptions options = {};  // options in addition to the file
  bool lattice = false;       // closed form, bit for bit the same for any batch
  // U(x) by plain loops; empty where golden values serve instead.
  std::function<double(const NamedTensors&, const Values&)> energy = {};
  std::function<double(const NamedTensors&, const RealValues&)> real_energy = {};
  // Writes files other than a dictionary of tensors, and names them in the options.
  std::function<void(const std::filesystem::path&, ModelOptions&)> write = {};
};

std::vector<ModelSample> model_samples();
std::vector<ModelSample> continuous_samples();  // among them

// Returns the samples for which fit(sample, its model) holds. Each model is loaded once a process,
// because parameters of tests are made whenever a test program starts; fit does not change it.
std::vector<ModelSample> samples_that(
    const std::function<bool(const ModelSample&, EnergyModel&)>& fit);

inline void PrintTo(const ModelSample& sample, std::ostream* out) {
  *out << sample.label;
}

// Writes the sample's file to a folder of its own and loads the model.
std::shared_ptr<EnergyModel> load_sample(const ModelSample& sample);

// Seeded uniform states uint8 [count, D], int64 of permutations; normal ones float32.
torch::Tensor some_states(const StateSpace& space, int64_t count);

// Replaces the tensor of that name.
void replace(NamedTensors& tensors, const std::string& key, const torch::Tensor& value);

}  // namespace isinglass
