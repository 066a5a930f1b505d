// Chooses the device of a run, and explains why an existing GPU cannot be used.
#pragma once

#include <cstdint>
#include <string>

#include "io/torch.h"

namespace isinglass {

// Holds what the CUDA runtime reports about the GPUs of this machine.
struct Gpus {
  int64_t usable = 0;
  int code = 0;     // Holds the result of cudaGetDeviceCount.
  int driver = 0;   // Holds the driver's CUDA version, such as 12040 for 12.4; 0: no driver.
  int runtime = 0;  // Holds this build's CUDA version.
};

Gpus gpus_here();

// Returns why the machine's GPUs cannot be used, or an empty text if they can, or if there is no
// driver or no GPU.
std::string gpu_trouble(const Gpus& gpus);

// Implements device_of() of assemble.h for given GPUs. If "auto" falls back to the CPU because the
// GPUs cannot be used, a warning says so once.
torch::Device device_of(const std::string& name, int64_t local_rank, const Gpus& gpus);

}  // namespace isinglass
