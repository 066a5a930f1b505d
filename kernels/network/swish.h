// swish(a) = a σ(a) of a network's layers, with its slope kept, so that a backward pass is a
// product (Ramachandran, Zoph & Le 2017):
//
//   y = swish(a + b), slope = σ(a + b)·(1 + (a + b)·(1 − σ(a + b)));   backwards (g + h)·slope
//
// In float32, σ to 2e-7; slopes and what goes backwards may be kept in bfloat16. b and h are a
// block's other branch, and may be missing.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"

namespace isinglass {

// The upper half of a float32, as PyTorch's bfloat16.
struct Bfloat16 {
  uint16_t bits;
};

ISINGLASS_HD inline float widened(float v) {
  return v;
}
ISINGLASS_HD inline float widened(Bfloat16 v) {
  const uint32_t bits = static_cast<uint32_t>(v.bits) << 16;
  float wide;
  memcpy(&wide, &bits, sizeof wide);
  return wide;
}

ISINGLASS_HD inline void narrow(float v, float& out) {
  out = v;
}
// To the nearest, ties to even; a NaN stays one.
ISINGLASS_HD inline void narrow(float v, Bfloat16& out) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  out.bits = static_cast<uint16_t>(v == v ? rounded : 0x7fc0);
}

struct Swish {
  float value, slope;

  ISINGLASS_HD explicit Swish(float a) {
    const float size = a < 0 ? -a : a;
    const float least = size < 87 ? elementary::exp_within(size < 87 ? -size : 0.0f) : 0.0f;
    const float on = elementary::sigmoid(a > 0, least);
    value = a * on;
    slope = on * (1 + a * (1 - on));
  }
};

// y, slope [count] of a and b; y may be a. b: null, or as a.
ISINGLASS_TWINS(swish, int64_t count, const float* a, const float* b, float* y, float* slope,
                Stream)
ISINGLASS_TWINS(swish, int64_t count, const float* a, const float* b, float* y, Bfloat16* slope,
                Stream)
// out = (g + h)·slope; out may be any of them. h: null, or as g.
ISINGLASS_TWINS(swish_backward, int64_t count, const float* g, const float* h, const float* slope,
                float* out, Stream)
ISINGLASS_TWINS(swish_backward, int64_t count, const Bfloat16* g, const Bfloat16* h,
                const Bfloat16* slope, Bfloat16* out, Stream)

// What a thread does to one number.
template <class T>
ISINGLASS_HD inline void swish_number(int64_t i, const float* a, const float* b, float* y,
                                      T* slope) {
  const Swish s(a[i] + (b ? b[i] : 0.0f));
  y[i] = s.value;
  narrow(s.slope, slope[i]);
}

template <class T>
ISINGLASS_HD inline void swish_backward_number(int64_t i, const T* g, const T* h, const T* slope,
                                               T* out) {
  narrow((widened(g[i]) + (h ? widened(h[i]) : 0.0f)) * widened(slope[i]), out[i]);
}

}  // namespace isinglass
