// Vectors of the CPU twins, three kinds: loops that the compiler turns into vectors, for several
// instruction sets (ISINGLASS_VECTOR_CLONES); arithmetic of whole vectors, as long as the machine's
// (Vector, ISINGLASS_BY_WIDTH); and Highway's, where the compiler does not find the instructions by
// itself: sources that have hwy/foreach_target.h are compiled for each instruction set.
#pragma once

#include <cstdint>

#ifdef __clang__  // vectors pass between functions that are inlined: no convention of calls is touched
#pragma clang diagnostic ignored "-Wpsabi"
#endif

#if defined(__x86_64__) && !defined(ISINGLASS_WITHOUT_AVX512)
#define ISINGLASS_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#endif

// Highway's instruction sets: arrays hold vectors of a length that the compiler knows.
#define ISINGLASS_SCALABLE (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#ifdef ISINGLASS_WITHOUT_AVX512
#define HWY_DISABLED_TARGETS (ISINGLASS_SCALABLE | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS ISINGLASS_SCALABLE
#endif
// In code that is compiled for each: it is not a machine's without vectors.
#define ISINGLASS_HAS_VECTORS (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

// A loop compiled for AVX-512, AVX2 and the baseline; the machine picks when the program starts. A
// clone takes in functions of the baseline only where they are inlined.
#if !defined(__x86_64__) || defined(__CUDACC__) || defined(__SANITIZE_ADDRESS__)
#define ISINGLASS_AVX2_CLONES
#define ISINGLASS_VECTOR_CLONES
#else
#define ISINGLASS_AVX2_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#ifdef ISINGLASS_AVX512
#define ISINGLASS_VECTOR_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ISINGLASS_VECTOR_CLONES ISINGLASS_AVX2_CLONES
#endif
#endif

// The same with all that a function calls. Other compilers than GCC do not combine the two.
#if defined(__GNUC__) && !defined(__clang__)
#define ISINGLASS_FLAT_CLONES [[gnu::flatten]] ISINGLASS_VECTOR_CLONES
#else
#define ISINGLASS_FLAT_CLONES [[gnu::flatten]]
#endif

// `type name parameters`, which is name_of<64> arguments on machines with AVX-512 and name_of<32>
// arguments elsewhere: a template of the vectors' bytes, always inlined, which stands before.
// NOLINTBEGIN(bugprone-macro-parentheses): a type and lists of arguments
#ifdef ISINGLASS_AVX512
#define ISINGLASS_BY_WIDTH(type, name, parameters, arguments)        \
  ISINGLASS_AVX512 static type name##_64 parameters {                \
    return name##_of<64> arguments;                                  \
  }                                                                  \
  ISINGLASS_AVX2_CLONES static type name##_32 parameters {           \
    return name##_of<32> arguments;                                  \
  }                                                                  \
  type name parameters {                                             \
    return has_avx512() ? name##_64 arguments : name##_32 arguments; \
  }
#else
#define ISINGLASS_BY_WIDTH(type, name, parameters, arguments) \
  ISINGLASS_AVX2_CLONES type name parameters {                \
    return name##_of<32> arguments;                           \
  }
#endif
// NOLINTEND(bugprone-macro-parentheses)

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors as results: of inlined functions alone
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

// Longer ones than the machine's, GCC copies piece by piece through memory, and takes their
// comparisons apart into branches.
template <class T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};
template <class T, int kBytes>
using Vector = typename VectorOf<T, kBytes>::type;

// Folds 32 numbers in the order of a warp's butterfly, f(a, b) into a; inlined, for the caller's
// instruction set.
template <class F>
[[gnu::always_inline]] inline double fold(const double* v, F f) {
  typedef double Four __attribute__((vector_size(32)));
  Four part[8];
  for (int k = 0; k < 8; ++k) part[k] = reinterpret_cast<const Vector<double, 32>*>(v)[k];
  for (int half = 4; half >= 1; half /= 2) {
    for (int k = 0; k < half; ++k) f(part[k], part[k + half]);
  }
  double p[4] = {part[0][0], part[0][1], part[0][2], part[0][3]};
  f(p[0], p[2]);
  f(p[1], p[3]);
  f(p[0], p[1]);
  return p[0];
}

[[gnu::always_inline]] inline double tree_sum(const double* v) {
  return fold(v, [](auto& a, const auto& b) { a += b; });
}
// The same of numbers that have just been written one by one: whole vectors would wait for them.
[[gnu::always_inline]] inline double written_sum(const double* v) {
  double p[16];
  for (int i = 0; i < 16; ++i) p[i] = v[i] + v[i + 16];
  for (int i = 0; i < 8; ++i) p[i] += p[i + 8];
  for (int i = 0; i < 4; ++i) p[i] += p[i + 4];
  return (p[0] + p[2]) + (p[1] + p[3]);
}
[[gnu::always_inline]] inline double tree_product(const double* v) {
  return fold(v, [](auto& a, const auto& b) { a *= b; });
}
[[gnu::always_inline]] inline double tree_max(const double* v) {
  return fold(v, [](auto& a, const auto& b) { a = a > b ? a : b; });
}

// A part of an array to be read as `kSize` numbers: `count` of it, and zeros.
template <class T, int kSize>
struct Padded {
  T copy[kSize];
  const T* whole;

  [[gnu::always_inline]] Padded(const T* from, int64_t count) : whole(from) {
    if (count >= kSize) return;
    for (int i = 0; i < kSize; ++i) copy[i] = 0;
    for (int i = 0; i < count; ++i) copy[i] = from[i];
    whole = copy;
  }
};

}  // namespace isinglass::cpu
