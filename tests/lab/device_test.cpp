// The device of a run follows from CUDA's report on the machine.
#include "lab/run/device.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "lab/run/assemble.h"
#include "tests/support/scratch.h"

namespace isinglass::device_test {
namespace {

class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { said.push_back(warning.msg()); }
  std::vector<std::string> said;
};

Gpus old_driver() {
  return {.usable = 0, .code = cudaErrorInsufficientDriver, .driver = 12040, .runtime = 13000};
}

TEST(Device, IsTheGpuOfItsRankWhereThereAreSome) {
  const Gpus two{.usable = 2, .code = cudaSuccess, .driver = 13000, .runtime = 13000};
  EXPECT_EQ(device_of("auto", 0, two), torch::Device(torch::kCUDA, 0));
  EXPECT_EQ(device_of("cuda", 3, two), torch::Device(torch::kCUDA, 1));
  EXPECT_EQ(device_of("cuda:1", 0, two), torch::Device(torch::kCUDA, 1));
  EXPECT_EQ(device_of("cpu", 0, two), torch::Device(torch::kCPU));
  EXPECT_ERROR(device_of("cuda:2", 0, two), "device is cuda:2; this machine has 2 usable GPUs");
  EXPECT_ERROR(device_of("cuda:x", 0, two), "auto, cpu, cuda or cuda:N is needed");
}

TEST(Device, IsTheCpuWithoutAWordWhereThereIsNoGpu) {
  const Gpus no_driver{.code = cudaErrorInsufficientDriver, .driver = 0, .runtime = 13000};
  const Gpus no_gpu{.code = cudaErrorNoDevice, .driver = 13000, .runtime = 13000};
  for (const Gpus& gpus : {no_driver, no_gpu}) {
    EXPECT_EQ(gpu_trouble(gpus), "");
    EXPECT_EQ(device_of("auto", 0, gpus), torch::Device(torch::kCPU));
    EXPECT_ERROR(device_of("cuda", 0, gpus), "device is cuda; this machine has no usable GPUs");
  }
}

TEST(Device, OfADriverTooOldIsNamedWithBothVersions) {
  const std::string words =
      "the NVIDIA driver of this machine supports CUDA 12.4, which is too old for this build with "
      "CUDA 13.0";
  for (const char* name : {"cuda", "cuda:0"}) {
    EXPECT_ERROR(device_of(name, 0, old_driver()),
                 "device is " + std::string(name) + ", but " + words);
  }
  Warnings heard;
  {
    const c10::WarningUtils::WarningHandlerGuard guard(&heard);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(device_of("auto", 0, old_driver()), torch::Device(torch::kCPU));
    }
    EXPECT_EQ(device_of("cpu", 0, old_driver()), torch::Device(torch::kCPU));
  }
  ASSERT_EQ(heard.said.size(), 1);
  EXPECT_EQ(heard.said.front().find("the CPU is used, because " + words), 0);
}

TEST(Device, OfAnotherTroubleSaysWhatCudaSays) {
  const Gpus broken{.code = cudaErrorSystemDriverMismatch, .driver = 13000, .runtime = 13000};
  EXPECT_ERROR(device_of("cuda", 0, broken), cudaGetErrorString(cudaErrorSystemDriverMismatch));
}

TEST(Device, OfThisMachineIsTheOneThatTorchSees) {
  EXPECT_EQ(device_of("auto").is_cuda(), torch::cuda::is_available());
  EXPECT_EQ(gpus_here().usable, static_cast<int64_t>(torch::cuda::device_count()));
}

}  // namespace
}  // namespace isinglass::device_test
