// Computes swish(a) = a σ(a) (Ramachandran, Zoph & Le 2017) of a network's layers and stores its
// slope, so that the backward pass is a product:
//
//   y = swish(a + b), slope = σ(a + b)·(1 + (a + b)·(1 − σ(a + b)));   backward: (g + h)·slope
//
// The arithmetic is float32, with σ accurate to 2e-7. Slopes and backward gradients may be stored
// in bfloat16. b and h come from a residual block's other branch and may be missing.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"

namespace isinglass {

// Holds the upper half of a float32, like PyTorch's bfloat16.
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
// Rounds to the nearest number, ties to even; a NaN remains a NaN.
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

// Writes y and slope [count]; y may be a. b has as many numbers as a, or is null.
ISINGLASS_TWINS(swish, int64_t count, const float* a, const float* b, float* y, float* slope,
                Stream)
ISINGLASS_TWINS(swish, int64_t count, const float* a, const float* b, float* y, Bfloat16* slope,
                Stream)
// Writes out = (g + h)·slope; out may be any of the inputs. h has as many numbers as g, or is null.
ISINGLASS_TWINS(swish_backward, int64_t count, const float* g, const float* h, const float* slope,
                float* out, Stream)
ISINGLASS_TWINS(swish_backward, int64_t count, const Bfloat16* g, const Bfloat16* h,
                const Bfloat16* slope, Bfloat16* out, Stream)

// The functions below process one number. Both devices call them.
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
