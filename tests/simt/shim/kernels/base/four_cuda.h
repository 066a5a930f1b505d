// Replaces kernels/base/four_cuda.h under the interpreter. GCC would split an access to the struct
// into four; one to a vector is one, for counters and for the sanitizers' check of alignment.
#pragma once

#include <cstring>

namespace isinglass {

struct alignas(16) Four {
  float of[4];
};

using FourLanes [[gnu::vector_size(16), gnu::may_alias]] = float;

inline Four load_four(const float* at) {
  const FourLanes lanes = *reinterpret_cast<const FourLanes*>(at);
  Four four;
  std::memcpy(&four, &lanes, sizeof four);
  return four;
}
inline void store_four(float* at, const Four& four) {
  FourLanes lanes;
  std::memcpy(&lanes, &four, sizeof lanes);
  *reinterpret_cast<FourLanes*>(at) = lanes;
}

}  // namespace isinglass
