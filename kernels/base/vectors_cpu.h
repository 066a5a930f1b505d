// Provides the three ways in which the CPU kernels use vector instructions. First, loops that the
// compiler vectorises for several instruction sets (ISINGLASS_VECTOR_CLONES). Second, arithmetic on
// vectors as long as the machine's (Vector, ISINGLASS_BY_WIDTH). Third, Highway, where the compiler
// does not find the instructions by itself: a source that includes hwy/foreach_target.h is compiled
// once for each instruction set.
#pragma once

#include <cstdint>

// Vectors are passed only between inlined functions, so that the calling convention does not
// matter.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpsabi"
#endif

#if defined(__x86_64__) && !defined(ISINGLASS_WITHOUT_AVX512)
#define ISINGLASS_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#endif

// Disables Highway's targets with scalable vectors (SVE, RVV), because the code keeps arrays of
// vectors, whose length the compiler must know.
#define ISINGLASS_SCALABLE (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#ifdef ISINGLASS_WITHOUT_AVX512
#define HWY_DISABLED_TARGETS (ISINGLASS_SCALABLE | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS ISINGLASS_SCALABLE
#endif
// True in code that Highway compiles for a target with vector instructions, false for its scalar
// and emulated targets.
#define ISINGLASS_HAS_VECTORS (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

// Compiles a function for AVX-512, AVX2 and the baseline; the version is chosen when the program
// starts. Functions that it calls use the same instruction set only if they are inlined.
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

// Does the same and inlines all calls in the function. Compilers other than GCC do not support both
// attributes together, and get only the inlining.
#if defined(__GNUC__) && !defined(__clang__)
#define ISINGLASS_FLAT_CLONES [[gnu::flatten]] ISINGLASS_VECTOR_CLONES
#else
#define ISINGLASS_FLAT_CLONES [[gnu::flatten]]
#endif

// Defines the function `type name parameters`, which evaluates `name_of<64> arguments` on machines
// with AVX-512 and `name_of<32> arguments` elsewhere. name_of is an always-inlined template over
// the vector length [bytes], which must be defined before the macro is used.
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
// Vectors are returned only by inlined functions.
#pragma GCC diagnostic ignored "-Wpsabi"
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

// Defines a vector of kBytes bytes of T. It should not be longer than the machine's vectors: GCC
// copies longer ones piecewise through memory, and turns their comparisons into branches.
template <class T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};
template <class T, int kBytes>
using Vector = typename VectorOf<T, kBytes>::type;

// Reduces 32 numbers in the order of a warp's butterfly; f(a, b) combines b into a. It is inlined,
// so that it is compiled for the caller's instruction set.
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
// Returns tree_sum() of numbers that have just been written one by one. It reads single numbers,
// because loads of whole vectors would wait for those stores.
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

// Presents the first `count` numbers of an array as kSize numbers, padded with zeros. It copies
// only if count < kSize.
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
