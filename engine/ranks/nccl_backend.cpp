// Makes the NCCL process group of c10d, if the program is built with NCCL.
#ifdef ISINGLASS_NCCL
#ifndef USE_C10D_NCCL  // LibTorch was built with this macro
#define USE_C10D_NCCL
#endif
#include <ATen/cuda/CUDAContext.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include "engine/ranks/backends.h"
#include "io/error.h"

namespace isinglass {

Backend nccl_backend(const Store& store, const RankInfo& place) {
#ifdef ISINGLASS_NCCL
  const auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = kPatience;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, static_cast<int>(place.rank),
                                                     static_cast<int>(place.size), options);
#else
  fail("this program was built without NCCL, which {} ranks with GPUs need", place.size);
#endif
}

torch::Tensor uuid_of_gpu(torch::Device gpu) {
#ifdef ISINGLASS_NCCL
  const cudaUUID_t& uuid = at::cuda::getDeviceProperties(gpu.index())->uuid;
  const auto* bytes = reinterpret_cast<const uint8_t*>(uuid.bytes);
  return torch::tensor(at::ArrayRef<uint8_t>(bytes, sizeof uuid.bytes), torch::kUInt8)
      .view({1, -1});
#else
  fail("this program was built without NCCL, without which {} cannot be told from other GPUs",
       gpu.str());
#endif
}

}  // namespace isinglass
