// The device that a run is on, and why a GPU that is there cannot be used.
#pragma once

#include <cstdint>
#include <string>

#include "io/torch.h"

namespace isinglass {

// The answer of CUDA's runtime about the GPUs of this machine.
struct Gpus {
  int64_t usable = 0;
  int code = 0;     // of cudaGetDeviceCount
  int driver = 0;   // the CUDA that the driver is for, as 12040 for 12.4; 0: there is no driver
  int runtime = 0;  // the CUDA of this build
};

Gpus gpus_here();

// Why the machine's GPUs cannot be used; empty where they can, and where there is no driver or no
// GPU.
std::string gpu_trouble(const Gpus& gpus);

// device_of() of assemble.h where CUDA says this. Where "auto" comes to the CPU for a trouble of
// the GPUs, a warning says so once.
torch::Device device_of(const std::string& name, int64_t local_rank, const Gpus& gpus);

}  // namespace isinglass
