// Implements exp, log, log1p, sin/cos and sigmoid in float64 without branches, for loops that the
// compiler vectorises.
//
// All instruction sets, and vector lanes as well as single numbers, give the same bits, which no
// library's functions do. A weight computed alone therefore equals the same weight computed among
// 32, so that a step which refreshes a few weights equals one which recomputes all. Device code
// calls CUDA's own functions, which differ by rounding.
//
//   exp    2^n·(1 + q), q = e^r − 1 by a Taylor series to r^12, |r| ≤ ln 2/2; 0 below −708 (no
//          denormals); relative error 4e-16
//   exp_pair  also e^x − 1 = 2^n·q + (2^n − 1), for x ≤ 0; relative error 7e-16
//   log    n·ln 2 + log(1 + f), √½ ≤ 1 + f < √2, atanh series of s = f/(2 + f) with the minimax
//          coefficients of fdlibm's e_log.c; error below 1 ulp of the result or 1e-16
//   log1p  log(u) + (x − (u − 1))/u, u = 1 + x rounded (Kahan)
//   sincos_of_turn  sin and cos of 2πu by fdlibm's polynomials (k_sin.c, k_cos.c) of the distance
//          from the nearest quarter turn, which is exact; error within 2 ulp
//   sigmoid  σ(x) = 1/(1 + e^{−x}), the slope of softplus (balancing.h)
//
// NaN and infinities are treated as in the standard library, except where a function states a
// narrower domain. exp_within() also has a float32 version. Sources that include this file are
// compiled without fused multiply-adds (-ffp-contract=off), with which the instruction sets would
// give different bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/base/host_device.h"

namespace isinglass::elementary {

constexpr double kInfinity = __builtin_huge_val();

inline double from_bits(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline uint64_t to_bits(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
// These bound the argument of exp().
constexpr double kLeastExponent = -708, kMostExponent = 709.75;

// Clamps x to the range in which e^x is finite and not denormal.
inline double clamped(double x) {
  const double above = x < kLeastExponent ? kLeastExponent : x;
  return above > kMostExponent ? kMostExponent : above;
}

// Decomposes y = n·ln 2 + r and computes q = e^r − 1. y must lie in the range of clamped().
struct Reduced {
  uint64_t n;  // The lowest bits hold n.
  double q;

  explicit Reduced(double y) {
    constexpr double kLog2E = 0x1.71547652b82fep0;
    constexpr double kRound = 0x1.8p52;  // Adding and subtracting it rounds to an integer.
    const double shifted = y * kLog2E + kRound, whole = shifted - kRound;
    const double r = (y - whole * kLn2High) - whole * kLn2Low;
    // Estrin's scheme keeps the chains of dependent operations short.
    const double r2 = r * r, r4 = r2 * r2;
    const double low4 = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    const double middle4 = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    const double high3 = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600);
    q = r + r2 * (low4 + r4 * (middle4 + r4 * high3));
    n = to_bits(shifted);
  }
  // Returns v·2^n for v ≈ 1.
  double times_power(double v) const { return from_bits(to_bits(v) + (n << 52)); }
};

ISINGLASS_HD inline double exp(double x) {
#ifdef __CUDA_ARCH__
  return ::exp(x);
#else
  const Reduced e(clamped(x));
  const double power = e.times_power(1 + e.q);
  const double finite = x > kMostExponent ? kInfinity : power;
  return x < kLeastExponent ? 0 : x != x ? x : finite;
#endif
}

// Returns e^x for |x| ≤ 700, and an unspecified number for other x.
ISINGLASS_HD inline double exp_within(double x) {
#ifdef __CUDA_ARCH__
  return ::exp(x);
#else
  const Reduced e(x);
  return e.times_power(1 + e.q);
#endif
}

// Returns e^x for x ≤ 700, without a test for overflow.
ISINGLASS_HD inline double exp_below(double x) {
#ifdef __CUDA_ARCH__
  return ::exp(x);
#else
  const Reduced e(x < kLeastExponent ? kLeastExponent : x);
  const double power = e.times_power(1 + e.q);
  return x < kLeastExponent ? 0 : x != x ? x : power;
#endif
}

// Holds e^x and e^x − 1 for x ≤ 0. Below −708, exp_pair() returns the values at −708, of which e^x
// is 3e-308.
struct ExpPair {
  double exp, expm1;
};

ISINGLASS_HD inline ExpPair exp_pair(double x) {
#ifdef __CUDA_ARCH__
  return {::exp(x), ::expm1(x)};
#else
  const Reduced e(x < kLeastExponent ? kLeastExponent : x);
  const double power = e.times_power(1), change = power * e.q;
  return {change + power, change + (power - 1)};
#endif
}

// Decomposes y = n·ln 2 + r in float32. exp_within(float) and one_minus_exp() below are accurate to
// 2e-7 and give the same bits on every device.
struct ReducedFloat {
  uint32_t n;
  float q;

  ISINGLASS_HD explicit ReducedFloat(float y) {
    constexpr float kLog2E = 0x1.715476p0f, kRound = 0x1.8p23f;
    constexpr float kHigh = 0x1.63p-1f, kLow = -0x1.bd0106p-13f;  // They add up to ln 2.
    const float shifted = y * kLog2E + kRound, whole = shifted - kRound;
    const float r = (y - whole * kHigh) - whole * kLow, r2 = r * r;
    const float low = (1.0f / 2 + r * (1.0f / 6)) + r2 * (1.0f / 24 + r * (1.0f / 120));
    q = r + r2 * (low + r2 * r2 * (1.0f / 720 + r * (1.0f / 5040)));
    n = bits(shifted);
  }
  ISINGLASS_HD float times_power(float v) const {
    const uint32_t moved = bits(v) + (n << 23);
    float x;
    memcpy(&x, &moved, sizeof x);
    return x;
  }
  ISINGLASS_HD static uint32_t bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
  }
};

// Returns e^x for |x| ≤ 87.
ISINGLASS_HD inline float exp_within(float x) {
  const ReducedFloat e(x);
  return e.times_power(1 + e.q);
}

// Returns 1 − e^{−x} for x ≥ 0.
ISINGLASS_HD inline float one_minus_exp(float x) {
  const ReducedFloat e(x < 80 ? -x : -80);
  const float power = e.times_power(1);
  return (1 - power) - power * e.q;
}

// Returns σ(a) = 1/(1 + e^{−a}) from the sign of a and least = e^{−|a|}.
ISINGLASS_HD inline float sigmoid(bool positive, float least) {
  return (positive ? 1.0f : least) / (1 + least);
}

ISINGLASS_HD inline double log(double x) {
#ifdef __CUDA_ARCH__
  return ::log(x);
#else
  constexpr double kSmallest = 0x1p-1022, kDenormal = 0x1p54;
  constexpr uint64_t kMantissa = 0x000fffffffffffff, kOne = 0x3ff0000000000000,
                     // This is 2^52: the low bits of such a double hold an integer.
      kWhole = 0x4330000000000000;
  const bool denormal = x < kSmallest;
  const uint64_t bits = to_bits(denormal ? x * kDenormal : x);
  const double m = from_bits((bits & kMantissa) | kOne);
  const bool upper = m > 0x1.6a09e667f3bcdp0;
  const double exponent = from_bits((bits >> 52) | kWhole) - (0x1p52 + 1023);
  const double n = exponent + (upper ? 1 : 0) - (denormal ? 54 : 0);
  const double f = (upper ? 0.5 * m : m) - 1;
  const double s = f / (2 + f), z = s * s, w = z * z, half = 0.5 * f * f;
  const double odd =
      z * (0x1.5555555555593p-1 +
           w * (0x1.2492494229359p-2 + w * (0x1.7466496cb03dep-3 + w * 0x1.2f112df3e5244p-3)));
  const double even =
      w * (0x1.999999997fa04p-2 + w * (0x1.c71c51d8e78afp-3 + w * 0x1.39a09d078c69fp-3));
  const double finite = n * kLn2High - ((half - (s * (half + (odd + even)) + n * kLn2Low)) - f);
  const double positive = x == kInfinity ? x : finite;
  return x > 0 ? positive : x == 0 ? -kInfinity : __builtin_nan("");
#endif
}

ISINGLASS_HD inline double log1p(double x) {
#ifdef __CUDA_ARCH__
  return ::log1p(x);
#else
  const double u = 1 + x, lost = (x - (u - 1)) / u;
  return log(u) + (u > 0 && u < kInfinity ? lost : 0.0);
#endif
}

// Holds sin and cos of 2πu for 0 ≤ u < 1. As no angle is large, the range reduction needs no table.
struct SinCos {
  double sin, cos;
};

ISINGLASS_HD inline SinCos sincos_of_turn(double u) {
#ifdef __CUDA_ARCH__
  SinCos of;
  ::sincospi(2 * u, &of.sin, &of.cos);
  return of;
#else
  constexpr double kRound = 0x1.8p52, kHalfPi = 0x1.921fb54442d18p0;
  const double shifted = 4 * u + kRound;
  const uint64_t quarter = to_bits(shifted) & 3;
  const double y = (4 * u - (shifted - kRound)) * kHalfPi, z = y * y, w = z * z, half = 0.5 * z;
  const double s = (8.33333333332248946124e-03 + z * -1.98412698298579493134e-04) +
                   w * (2.75573137070700676789e-06 + z * -2.50507602534068634195e-08 +
                        w * 1.58969099521155010221e-10);
  const double c = (4.16666666666666019037e-02 + z * -1.38888888888741095749e-03) +
                   w * ((2.48015872894767294178e-05 + z * -2.75573143513906633035e-07) +
                        w * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11));
  const double sin = y + z * y * (-1.66666666666666324348e-01 + z * s);
  const double one = 1 - half, cos = one + (((1 - one) - half) + w * c);
  const bool odd = quarter & 1;
  const uint64_t of_sin = to_bits(odd ? cos : sin), of_cos = to_bits(odd ? sin : cos);
  return {from_bits(of_sin ^ (quarter & 2) << 62), from_bits(of_cos ^ ((quarter + 1) & 2) << 62)};
#endif
}

// Computes σ(x) = 1/(1 + e^{−x}) from e^{−|x|}, which cannot overflow.
ISINGLASS_HD inline double sigmoid(double x) {
  const double least = exp(x > 0 ? -x : x);
  return (x > 0 ? 1.0 : least) / (1 + least);
}

}  // namespace isinglass::elementary
