// Implements the synchronised clock.
#include "engine/run/clock.h"

#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAFunctions.h>

#include <chrono>

namespace isinglass {

double synchronised_seconds(torch::Device device) {
  if (device.is_cuda()) {
    const c10::DeviceGuard on_device(device);
    c10::cuda::device_synchronize();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace isinglass
