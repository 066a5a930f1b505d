// Identifies a model, in addition to its kind, so that a checkpoint is only resumed with the model
// that wrote it: by its parameters, and by the energies of a user-defined function, which may
// register no parameters.
//
// Nothing lists the values that such a function depends on, so it is identified by its energies at
// a few fixed pseudo-random states. Two functions whose energies there agree bit for bit are taken
// to be the same. On other hardware or software (processor, GPU, number of threads, version of
// torch) the same function rounds differently; energies are then compared up to rounding error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/pt/pt_file.h"
#include "models/energy_model.h"

namespace isinglass {

// Returns the SHA-256 of the model's parameters and buffers (io/sha256.h). For a trained network it
// is that of the file that holds them.
std::string parameters_sha256(const EnergyModel& model);

// Implemented by models whose registered tensors do not determine their energies.
class OwnFunction {
 public:
  virtual ~OwnFunction() = default;
  // Returns U of the states [N], computed twice: float64 [2, N], or undefined if it cannot be
  // computed. The function, the values that it holds and torch's random number generators are
  // afterwards as they were before.
  virtual torch::Tensor energies_twice(const torch::Tensor& x) const = 0;
};

// Returns every such function within the model, in the order of the modules. It is empty if the
// parameters determine all energies.
std::vector<const EnergyModel*> own_functions(const EnergyModel& model);

// Returns true if the function registers parameters or buffers, which identify it where its
// energies cannot.
bool has_tensors(const EnergyModel& function);

// Returns the functions' energies in the form that a checkpoint stores.
PtDict function_identity(const EnergyModel& model, torch::Device device);

// Throws Error unless `saved` identifies this model's functions; null means that the checkpoint
// holds no identity. In that case, and for a function whose two evaluations disagree, only its
// parameters can identify it: a function without parameters is refused. `what` names the checkpoint
// in messages.
void require_same_functions(const PtDict* saved, const EnergyModel& model, torch::Device device,
                            const std::string& what);

// Returns the SHA-256 of the functions' energies; nothing if there is no function, or if one of
// them does not give the same energies twice.
std::optional<std::string> functions_sha256(const EnergyModel& model, torch::Device device);

}  // namespace isinglass
