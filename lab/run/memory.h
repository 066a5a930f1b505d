// Estimates memory before work starts, so that a size that cannot fit is reported as a user's error
// and the process is not killed an hour later.
#pragma once

#include <filesystem>
#include <string>

#include "io/torch.h"
#include "models/energy_model.h"
#include "models/registry.h"

namespace isinglass {

inline constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

// Returns the bytes that the device has left: of the GPU, or of the machine within the process's
// control groups. $ISINGLASS_MEMORY [GiB] replaces the machine's value if it is set. Throws Error
// if it is not a number above 0.
double available_memory(torch::Device device);

// Returns the bytes that control groups leave the process: the smallest value, over the groups that
// it is in, of the limit minus the used memory that cannot be reclaimed; infinity if no group has a
// limit. Tests pass another `root` in place of "/".
double group_memory(const std::filesystem::path& root = "/");

// Returns the bytes that chains of the model need while they move: states, proposals, gradients,
// scores of all moves, and the activations of one model call.
double sampling_bytes(const EnergyModel& model, int64_t chains);

// Returns the bytes that training a new model needs: parameters with gradient, moments, average and
// a checkpoint's copy; activations for the batch, data and chains; and the replay buffer.
double training_bytes(const std::string& model, const NewModelOptions& options, int64_t batch,
                      int64_t buffer);

// Throws Error naming `what` ("`chains` 100000") if the estimate exceeds what the device has left.
void require_memory(double bytes, torch::Device device, const std::string& what);

}  // namespace isinglass
