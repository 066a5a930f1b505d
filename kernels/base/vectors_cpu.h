// Functions written in AVX-512 instructions (CPU), where the compiler does not find them by itself.
// Each has a caller that takes another way on machines without them: if (has_avx512()) ….
#pragma once

#if defined(__x86_64__)
#define ISINGLASS_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC's own intrinsics (its bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace isinglass::cpu {

inline bool has_avx512() {
#ifdef ISINGLASS_AVX512
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has;
#else
  return false;
#endif
}

}  // namespace isinglass::cpu
