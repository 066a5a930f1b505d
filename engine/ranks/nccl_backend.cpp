// c10d's NCCL. See backends.h.
#ifdef ISINGLASS_NCCL
#ifndef USE_C10D_NCCL  // what LibTorch was built with
#define USE_C10D_NCCL
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include "engine/ranks/backends.h"
#include "io/error.h"

namespace isinglass {

Backend nccl_backend(const Store& store, const Place& place) {
#ifdef ISINGLASS_NCCL
  const auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = kPatience;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, static_cast<int>(place.rank),
                                                     static_cast<int>(place.size), options);
#else
  fail("this program was built without NCCL, and {} ranks have GPUs", place.size);
#endif
}

}  // namespace isinglass
