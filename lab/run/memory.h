// Estimates of memory, made before work starts: a size that cannot fit is a user's error, not a
// process killed an hour later.
#pragma once

#include <filesystem>
#include <string>

#include "io/torch.h"
#include "models/energy_model.h"
#include "models/registry.h"

namespace isinglass {

inline constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

// Bytes that the device has left: a GPU's, or the machine's within the process's control groups; of
// the machine what $ISINGLASS_MEMORY says, in GiB, where it is set. Throws Error if that is no
// number above 0.
double available_memory(torch::Device device);

// Bytes that control groups leave the process: of every group that it is in, the limit less what is
// used and cannot be taken back; infinity: none has a limit. `root` stands for "/" in tests.
double group_memory(const std::filesystem::path& root = "/");

// Bytes that chains of the model need while they move: states, proposals, gradients, scores of all
// moves, and the activations of one model call.
double sampling_bytes(const EnergyModel& model, int64_t chains);

// Bytes of a new model in training: parameters with gradient, moments, average and a checkpoint's
// copy; activations of the batch, data and chains; the buffer.
double training_bytes(const std::string& model, const NewModelOptions& options, int64_t batch,
                      int64_t buffer);

// Throws Error naming `what` ("`chains` 100000") if the estimate exceeds what the device has left.
void require_memory(double bytes, torch::Device device, const std::string& what);

}  // namespace isinglass
