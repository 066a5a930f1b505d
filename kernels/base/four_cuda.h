// Four floats that a thread reads or writes in one access of 16 bytes (CUDA). A test build replaces
// this header (tests/simt/shim/), so that the interpreter sees one access, too.
#pragma once

namespace isinglass {

struct alignas(16) Four {
  float of[4];
};

// `at` must be a multiple of 16 bytes.
__device__ inline Four load_four(const float* at) {
  return *reinterpret_cast<const Four*>(at);
}
__device__ inline void store_four(float* at, const Four& four) {
  *reinterpret_cast<Four*>(at) = four;
}

}  // namespace isinglass
