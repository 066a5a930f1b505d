// The identity of a model beside its kind: its parameters, and the energies of a function of a
// user's own, which may register none.
//
// Nothing names what such a function reads, so that it is known by its energies at a few fixed
// pseudo-random states. Two functions that agree there, to the bit, are taken for one. By other
// arithmetic (another processor, GPU, number of threads or version of torch) the same function is
// rounded otherwise: there energies within the error of rounding agree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/pt/pt_file.h"
#include "models/energy_model.h"

namespace isinglass {

// SHA-256 of the model's parameters and buffers (io/sha256.h): of a trained network that of the
// file that holds them.
std::string parameters_sha256(const EnergyModel& model);

// A model whose registered tensors do not decide its energies.
class OwnFunction {
 public:
  virtual ~OwnFunction() = default;
  // U of the states [N], computed twice: float64 [2, N]; undefined where it cannot be computed. The
  // function, what it holds and torch's random numbers are afterwards as they were.
  virtual torch::Tensor energies_twice(const torch::Tensor& x) const = 0;
};

// Every function within the model, in the order of the modules; empty where parameters decide all.
std::vector<const EnergyModel*> own_functions(const EnergyModel& model);

// Returns whether the function registers parameters or buffers, which identify it where its
// energies cannot.
bool has_tensors(const EnergyModel& function);

// The functions' energies in the form that a checkpoint saves.
PtDict function_identity(const EnergyModel& model, torch::Device device);

// Throws Error unless `saved` is the identity of this model's functions; null: the checkpoint holds
// none. Then, and where a function has not the same energies twice, its parameters have to decide:
// one without any is refused. `what` is the checkpoint.
void require_same_functions(const PtDict* saved, const EnergyModel& model, torch::Device device,
                            const std::string& what);

// SHA-256 of the functions' energies; none where there is no function, or one that has not the
// same energies twice.
std::optional<std::string> functions_sha256(const EnergyModel& model, torch::Device device);

}  // namespace isinglass
