// exp, log and log1p in float64 without a branch, for loops that the compiler turns into vectors.
//
// Lanes of a vector, single numbers and every instruction set give the same bits, which no
// library's functions do: a weight computed alone equals the same weight computed among 32, so that
// a step which refreshes a few weights equals one that takes all again. Device code takes CUDA's
// own functions, which differ by rounding.
//
//   exp    2^n·(1 + q), q = e^r − 1 by Taylor to r^12, |r| ≤ ln 2/2; 0 below −708 (no denormals);
//          relative error 4e-16
//   exp_pair: also e^x − 1 = 2^n·q + (2^n − 1), for x ≤ 0; relative error 7e-16
//   log    n·ln 2 + log(1 + f), √½ ≤ 1 + f < √2, atanh series of s = f/(2 + f) with the minimax
//          coefficients of fdlibm's e_log.c; below 1 ulp of the result or 1e-16
//   log1p  log(u) + (x − (u − 1))/u, u = 1 + x rounded (Kahan)
//   sincos_of_turn  sin and cos of 2πu by fdlibm's polynomials (k_sin.c, k_cos.c) of the distance from
//          the nearest quarter of a turn, which is exact; within 2 ulp
//   sigmoid  σ(x) = 1/(1 + e^{−x}), the slope of softplus (balancing.h)
//
// NaN and infinities as in the standard library. exp_within() takes float32, too. Sources that
// include this are compiled without fused multiplications (-ffp-contract=off), where the
// instruction sets would differ.
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
constexpr double kLeastExponent = -708, kMostExponent = 709.75;  // of exp

// x clamped to the range of finite powers
inline double clamped(double x) {
  const double above = x < kLeastExponent ? kLeastExponent : x;
  return above > kMostExponent ? kMostExponent : above;
}

// y = n·ln 2 + r, and q = e^r − 1; y in the range of finite powers.
struct Reduced {
  uint64_t n;  // in the lowest bits
  double q;

  explicit Reduced(double y) {
    constexpr double kLog2E = 0x1.71547652b82fep0;
    constexpr double kRound = 0x1.8p52;  // added and taken away, rounds to a whole number
    const double shifted = y * kLog2E + kRound, whole = shifted - kRound;
    const double r = (y - whole * kLn2High) - whole * kLn2Low;
    // Estrin's order: short chains of dependent operations.
    const double r2 = r * r, r4 = r2 * r2;
    const double low4 = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    const double middle4 = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    const double high3 = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600);
    q = r + r2 * (low4 + r4 * (middle4 + r4 * high3));
    n = to_bits(shifted);
  }
  double times_power(double v) const { return from_bits(to_bits(v) + (n << 52)); }  // v·2^n, v ≈ 1
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

// e^x of |x| ≤ 700; of other numbers, any number.
ISINGLASS_HD inline double exp_within(double x) {
#ifdef __CUDA_ARCH__
  return ::exp(x);
#else
  const Reduced e(x);
  return e.times_power(1 + e.q);
#endif
}

// e^x of x ≤ 700, without a test for overflow.
ISINGLASS_HD inline double exp_below(double x) {
#ifdef __CUDA_ARCH__
  return ::exp(x);
#else
  const Reduced e(x < kLeastExponent ? kLeastExponent : x);
  const double power = e.times_power(1 + e.q);
  return x < kLeastExponent ? 0 : x != x ? x : power;
#endif
}

// e^x and e^x − 1, x ≤ 0; of x < −708 as of −708: 3e-308
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

// y = n·ln 2 + r of float32. The two functions below are right to 2e-7, with the same bits on every
// device.
struct ReducedFloat {
  uint32_t n;
  float q;

  ISINGLASS_HD explicit ReducedFloat(float y) {
    constexpr float kLog2E = 0x1.715476p0f, kRound = 0x1.8p23f;
    constexpr float kHigh = 0x1.63p-1f, kLow = -0x1.bd0106p-13f;  // of ln 2
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

// e^x of |x| ≤ 87
ISINGLASS_HD inline float exp_within(float x) {
  const ReducedFloat e(x);
  return e.times_power(1 + e.q);
}

// 1 − e^{−x} of x ≥ 0
ISINGLASS_HD inline float one_minus_exp(float x) {
  const ReducedFloat e(x < 80 ? -x : -80);
  const float power = e.times_power(1);
  return (1 - power) - power * e.q;
}

// σ(a) = 1/(1 + e^{−a}) from the sign of a and e^{−|a|}
ISINGLASS_HD inline float sigmoid(bool positive, float least) {
  return (positive ? 1.0f : least) / (1 + least);
}

ISINGLASS_HD inline double log(double x) {
#ifdef __CUDA_ARCH__
  return ::log(x);
#else
  constexpr double kSmallest = 0x1p-1022, kDenormal = 0x1p54;
  constexpr uint64_t kMantissa = 0x000fffffffffffff, kOne = 0x3ff0000000000000,
                     kWhole = 0x4330000000000000;  // 2^52: bits below are a whole number
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

// sin and cos of 2πu, 0 ≤ u < 1. No angle is far from zero: no array for its reduction.
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

// σ(x) = 1/(1 + e^{−x}), from the power that does not overflow
ISINGLASS_HD inline double sigmoid(double x) {
  const double least = exp(x > 0 ? -x : x);
  return (x > 0 ? 1.0 : least) / (1 + least);
}

}  // namespace isinglass::elementary
