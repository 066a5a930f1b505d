// Makes models, samplers and data from specs. The functions `resolved` return a spec with its
// defaults filled in and files named by absolute paths.
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

using Stop = std::function<bool()>;  // It is polled between steps; true ends the work.

// It is thrown if a long computation was stopped before it had a result.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Holds objects in memory that a calling program gives in place of names and files.
struct Given {
  std::shared_ptr<EnergyModel> model = nullptr;  // The model must be on the device.
  std::optional<Dataset> data = {};
  torch::Tensor labels = {};  // Holds the classes of the training images, int64 [N].
  torch::Tensor states = {};  // Holds the states where chains begin, [B, D].
  torch::Tensor mean = {};    // Holds the means of the Bernoulli sites where annealing begins, [D].
  // These restrict the states (models/conditional/restriction.h).
  torch::Tensor fixed = {}, allowed = {}, reference = {};
  // Says why the model's energies are not a function of the state alone; empty if they are.
  std::string inexact = {};
};

// Returns the device for "auto" (a GPU if there is one), "cpu", "cuda" or "cuda:N". If several
// ranks run on a machine, each takes the GPU of its local rank, or the only GPU that it sees.
// Throws Error for a GPU that does not exist.
torch::Device device_of(const std::string& name, int64_t local_rank = 0);

// Throws Error ("`dataset` is required") unless the option is given.
void require_given(bool said, const char* option);

// Returns the name of the sampler for a run that names none where no chromatic sweeps are possible:
// pafs, or gibbs without a gradient; hmc for continuous states, and lb for permutations.
std::string default_sampler(const EnergyModel& model);

// Names the sampler of a run that names none. It is gibbs if `scan` is the only option given, and
// gibbs with chromatic sweeps, a step of which draws all sites, if none is given and `sweeps` is
// true; otherwise it is default_sampler().
void name_sampler(SamplerSpec& sampler, const EnergyModel& model, bool sweeps);

// Returns the folder of the data sets: the spec's, else $ISINGLASS_DATA, else "data".
std::filesystem::path data_directory(const DataSpec& data);
DataSpec absolute(DataSpec data);  // Makes the given paths absolute.
DataSpec resolved(DataSpec data);
ModelSpec resolved(ModelSpec model);
// Resolves a sampler for the model, which limits some defaults. Throws Error for options that the
// sampler does not read and for values out of range. `warm` means that an earlier run has adapted
// the numbers.
SamplerSpec resolved(const SamplerSpec& sampler, const EnergyModel& model, bool warm = false);

// Returns a number of a resolved sampler, or nothing if the sampler does not read it.
std::optional<double> sampler_number(const SamplerSpec& sampler, const std::string& name);

// Returns whether the sampler moves continuous states.
bool moves_continuous(const SamplerSpec& sampler);

// Returns whether the model that a spec names has continuous states. A model whose parameters do
// not determine it has those that the sampler moves.
bool has_continuous_states(const ModelSpec& spec, const SamplerSpec& sampler);

// These return a data set's images; its points or grey levels as float32, as load_points() does;
// the classes of its training images.
Dataset images_of(const DataSpec& data);
Dataset points_of(const DataSpec& data, bool every_split = false);
torch::Tensor labels_of(const DataSpec& data);

// Returns the named model with its parameters, from the file or from memory, on the device.
// `continuous` gives the kind of states for models whose parameters do not determine it.
std::shared_ptr<EnergyModel> model_of(const ModelSpec& spec, torch::Device device,
                                      bool continuous = false,
                                      std::optional<NamedTensors> tensors = {});

// Returns the model for a sampler: the instance if the spec names one, made from the data if it is
// an instance of images, with another model's gradient and at a temperature if the spec gives them.
// on_data receives the data that are read.
std::shared_ptr<EnergyModel> sampled_model(const ModelSpec& spec, const SamplerSpec& sampler,
                                           const DataSpec& data, torch::Device device,
                                           const std::function<void(const Dataset&)>& on_data = {});

// Returns the model at the temperature of the spec; the model itself at temperature 1.
std::shared_ptr<EnergyModel> at_temperature_of(const ModelSpec& spec,
                                               std::shared_ptr<EnergyModel> model,
                                               torch::Device device);

// Sets the precision of gradients for a model on this device.
void set_gradient_precision(const ModelSpec& spec, EnergyModel& model, torch::Device device);

std::unique_ptr<Sampler> sampler_of(const SamplerSpec& sampler, const EnergyModel& model,
                                    bool warm = false);
// Returns the sampler for work without burn-in. Throws Error with the reason if the sampler adapts
// during burn-in.
std::unique_ptr<Sampler> fixed_sampler_of(const SamplerSpec& sampler, const EnergyModel& model,
                                          const std::string& reason);
// Returns the sampler of a training, which may adapt a step size between iterations. Throws Error
// with the reason if the sampler learns anything else during burn-in.
std::unique_ptr<Sampler> training_sampler_of(const SamplerSpec& sampler, const EnergyModel& model,
                                             const std::string& reason);

// Returns whether steps are captured in a CUDA graph. By default they are on a GPU, if the model
// and the sampler allow it. Throws Error if capture is requested and they do not.
bool captures_steps(std::optional<bool> said, const EnergyModel& model, const Sampler& sampler,
                    torch::Device device);

}  // namespace isinglass
