// Models, samplers and data from specs, and what a spec comes to: `resolved` says what the default
// was where nothing was said, and names files in full.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/sampler.h"
#include "io/torch.h"
#include "lab/spec/spec.h"
#include "models/energy_model.h"
#include "train/data/dataset.h"

namespace isinglass {

using Stop = std::function<bool()>;  // asked between steps; true ends the work

// A long computation was stopped before it had anything to return.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a program that holds it in memory gives in place of names and files.
struct Given {
  std::shared_ptr<EnergyModel> model = nullptr;  // on the device
  std::optional<Dataset> data = {};
  torch::Tensor labels = {};  // int64 [N]: the classes of the data's training images
  torch::Tensor states = {};  // [B, D]: where chains begin
  torch::Tensor mean = {};    // [D]: of the Bernoulli sites where annealing begins
};

// "auto" (a GPU if there is one), "cpu", "cuda" or "cuda:N"; of several ranks on a machine each has
// the GPU of its number there, or, where each sees its own alone, that one. Throws Error for a GPU
// that is not there.
torch::Device device_of(const std::string& name, int64_t local_rank = 0);

// Throws Error unless something is said: "`dataset` is required".
void require_said(bool said, const char* option);

// The folder of the data sets: the spec's, or else $ISINGLASS_DATA, or else data.
std::filesystem::path data_directory(const DataSpec& data);
DataSpec absolute(DataSpec data);  // what is said of files, in full
DataSpec resolved(DataSpec data);
ModelSpec resolved(ModelSpec model);
// For the model, which gives defaults their limits. Throws Error for options that the sampler does
// not read, or out of its range. `warm`: the numbers were adapted by an earlier run.
SamplerSpec resolved(const SamplerSpec& sampler, const EnergyModel& model, bool warm = false);

// The number of a resolved sampler; none if it does not read it.
std::optional<double> sampler_number(const SamplerSpec& sampler, const std::string& name);

// Whether the sampler moves continuous states.
bool moves_continuous(const SamplerSpec& sampler);

// A data set's images; its points or grey levels, float32; the classes of its training images.
Dataset images_of(const DataSpec& data);
Dataset points_of(const DataSpec& data);
torch::Tensor labels_of(const DataSpec& data);

// name with its parameters, of the file or in memory, on the device. `continuous`: the states of a
// model whose parameters do not say.
std::shared_ptr<EnergyModel> model_of(const ModelSpec& spec, torch::Device device,
                                      bool continuous = false,
                                      std::optional<NamedTensors> tensors = {});

// The same for a sampler: the instance where one is named, made of the data if it is one of images,
// and with another model's gradient where one is given. on_data is told of data that it reads.
std::shared_ptr<EnergyModel> sampled_model(const ModelSpec& spec, const SamplerSpec& sampler,
                                           const DataSpec& data, torch::Device device,
                                           const std::function<void(const Dataset&)>& on_data = {});

// Of a model on this device.
void set_gradient_precision(const ModelSpec& spec, EnergyModel& model, torch::Device device);

std::unique_ptr<Sampler> sampler_of(const SamplerSpec& sampler, const EnergyModel& model,
                                    bool warm = false);
// The same where there is no burn-in. Throws Error with the reason if the sampler learns in one.
std::unique_ptr<Sampler> fixed_sampler_of(const SamplerSpec& sampler, const EnergyModel& model,
                                          const std::string& reason);

// Whether steps are captured in a CUDA graph: where nothing is said, on a GPU with a model and a
// sampler that allow it. Throws Error where it is asked for and they do not.
bool captures_steps(std::optional<bool> said, const EnergyModel& model, const Sampler& sampler,
                    torch::Device device);

}  // namespace isinglass
