// Defines the event that CMakeLists.txt writes into the copy of Philox's header, and one for fused
// products and sums. The compiler includes this file before every source that is counted. The
// increment is assembly that touches no other memory, so that the compiler keeps the same values in
// registers as without it.
#pragma once

#include <cmath>
#include <cstdint>

namespace simt {
inline uint64_t philox_events = 0, fused_events = 0;  // of all threads
}

#define ISINGLASS_EVENT(name) asm volatile("incq %0" : "+m"(::simt::name##_events) : : "cc")

namespace simt {
inline float fused(float a, float b, float c) {
  ISINGLASS_EVENT(fused);
  return __builtin_fmaf(a, b, c);
}
}  // namespace simt
#define fmaf(a, b, c) ::simt::fused(a, b, c)
