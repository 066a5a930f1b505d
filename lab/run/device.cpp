// Implements the choice of the device.
#include "lab/run/device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <charconv>

#include "io/error.h"
#include "lab/run/assemble.h"

namespace isinglass {
namespace {

std::string cuda_text(int version) {
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

Gpus gpus_here() {
  Gpus gpus{.usable = static_cast<int64_t>(torch::cuda::device_count()), .runtime = CUDART_VERSION};
  int count = 0;
  gpus.code = cudaGetDeviceCount(&count);
  if (cudaDriverGetVersion(&gpus.driver) != cudaSuccess) gpus.driver = 0;
  cudaGetLastError();  // This clears the error, which must not be reported to another caller.
  return gpus;
}

std::string gpu_trouble(const Gpus& gpus) {
  if (gpus.usable > 0 || gpus.driver == 0 || gpus.code == cudaErrorNoDevice ||
      gpus.code == cudaSuccess) {
    return "";
  }
  if (gpus.code == cudaErrorInsufficientDriver) {
    return fmt::format(
        "the NVIDIA driver of this machine supports {}, which is too old for this build with {}; "
        "to use its GPUs, install a newer driver or a build for that CUDA (docs/guide/install.md)",
        cuda_text(gpus.driver), cuda_text(gpus.runtime));
  }
  return fmt::format(
      "CUDA cannot use the GPUs of this machine (the "
      "driver supports {}, and this build uses {}): {}",
      cuda_text(gpus.driver), cuda_text(gpus.runtime),
      cudaGetErrorString(static_cast<cudaError_t>(gpus.code)));
}

torch::Device device_of(const std::string& name, int64_t local_rank) {
  return device_of(name, local_rank, name == "cpu" ? Gpus() : gpus_here());
}

torch::Device device_of(const std::string& name, int64_t local_rank, const Gpus& gpus) {
  if (name == "cpu") return torch::kCPU;
  const std::string trouble = gpu_trouble(gpus);
  if (name == "auto" && gpus.usable == 0) {
    if (!trouble.empty()) {
      TORCH_WARN_ONCE("the CPU is used, because ", trouble);
    }
    return torch::kCPU;
  }
  // Under srun each rank may see only its own GPU.
  int64_t index = gpus.usable == 0 ? 0 : local_rank % gpus.usable;
  const bool indexed = name.starts_with("cuda:");
  const auto [rest, error] =
      indexed ? std::from_chars(name.data() + 5, name.data() + name.size(), index)
              : std::from_chars_result{name.data() + name.size(), std::errc()};
  require_options((indexed || name == "cuda" || name == "auto") && error == std::errc() &&
                      rest == name.data() + name.size() && index >= 0,
                  "`device` is '{}'; auto, cpu, cuda or cuda:N is needed", name);
  require_options(trouble.empty(), "`device` is {}, but {}", name, trouble);
  require_options(index < gpus.usable, "`device` is {}; this machine has {} usable GPU{}", name,
                  gpus.usable == 0 ? "no" : std::to_string(gpus.usable),
                  gpus.usable == 1 ? "" : "s");
  return torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(index));
}

}  // namespace isinglass
