// Implements front.h, one chain at a time, on an image that is padded by zeros. The forward pass
// has output channels in its vectors, the backward pass taps.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/base/threads_cpu.h"
#include "kernels/base/vectors_cpu.h"
#include "kernels/network/front.h"

namespace isinglass::cpu {
namespace {

int64_t padded_row(const FrontShape& s) {
  return (s.width + s.kernel - 1) * s.inputs;
}

int64_t class_of(const FrontShape& s, int64_t row, int64_t column) {
  return s.classes == 1 ? 0 : 2 * (row == 0) + (column == 0);
}

// Computes the outputs of a chain, kVectors vectors of channels at a time.
template <int kBytes, int kVectors>
[[gnu::always_inline]] inline void outputs_of(const FrontShape& s, const float* padded,
                                              const float* weights, const float* bias, float* out) {
  using V = Vector<float, kBytes>;
  constexpr int64_t kLanes = kBytes / 4;
  const int64_t stride = padded_row(s), across = s.kernel * s.inputs;
  for (int64_t r = 0; r < s.height / 2; ++r) {
    for (int64_t c = 0; c < s.width / 2; ++c, out += s.outputs) {
      const int64_t k = class_of(s, r, c);
      const float* patch = padded + 2 * r * stride + 2 * c * s.inputs;
      for (int64_t o = 0; o < s.outputs; o += kVectors * kLanes) {
        const float* w = weights + k * s.taps() * s.outputs + o;
        V sum[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          sum[v] = *reinterpret_cast<const V*>(bias + k * s.outputs + o + v * kLanes);
        }
        for (int64_t p = 0; p < s.kernel; ++p) {
          for (int64_t t = 0; t < across; ++t, w += s.outputs) {
            const float x = patch[p * stride + t];
            for (int v = 0; v < kVectors; ++v) {
              sum[v] += x * *reinterpret_cast<const V*>(w + v * kLanes);
            }
          }
        }
        for (int v = 0; v < kVectors; ++v) {
          *reinterpret_cast<V*>(out + o + v * kLanes) = sum[v];
        }
      }
    }
  }
}

template <int kBytes>
[[gnu::always_inline]] inline void forward_chain_of(const FrontShape& s, const float* padded,
                                                    const float* weights, const float* bias,
                                                    float* out) {
  constexpr int64_t kLanes = kBytes / 4;
  if (s.outputs % (4 * kLanes) == 0) {
    outputs_of<kBytes, 4>(s, padded, weights, bias, out);
  } else if (s.outputs % (2 * kLanes) == 0) {
    outputs_of<kBytes, 2>(s, padded, weights, bias, out);
  } else {
    outputs_of<kBytes, 1>(s, padded, weights, bias, out);
  }
}
ISINGLASS_BY_WIDTH(void, forward_chain,
                   (const FrontShape& s, const float* padded, const float* weights,
                    const float* bias, float* out),
                   (s, padded, weights, bias, out))

// Adds the gradient of a chain to its padded image, 32 taps at a time. The sums over even and odd
// channels run side by side, so that additions wait less for each other.
template <int kBytes>
[[gnu::always_inline]] inline void backward_chain_of(const FrontShape& s, const float* at_out,
                                                     const float* weights, float* padded,
                                                     float* at_taps) {
  using V = Vector<float, kBytes>;
  constexpr int kLanes = kBytes / 4, kVectors = 32 / kLanes;
  const int64_t stride = padded_row(s), across = s.kernel * s.inputs, taps = s.padded_taps();
  for (int64_t r = 0; r < s.height / 2; ++r) {
    for (int64_t c = 0; c < s.width / 2; ++c, at_out += s.outputs) {
      const float* of_class = weights + class_of(s, r, c) * s.outputs * taps;
      for (int64_t first = 0; first < taps; first += 32) {
        const float* w = of_class + first;
        V even[kVectors] = {}, odd[kVectors] = {};
        for (int64_t o = 0; o < s.outputs; o += 2, w += 2 * taps) {
          for (int v = 0; v < kVectors; ++v) {
            even[v] += at_out[o] * *reinterpret_cast<const V*>(w + v * kLanes);
            odd[v] += at_out[o + 1] * *reinterpret_cast<const V*>(w + taps + v * kLanes);
          }
        }
        for (int v = 0; v < kVectors; ++v) {
          *reinterpret_cast<V*>(at_taps + first + v * kLanes) = even[v] + odd[v];
        }
      }
      float* patch = padded + 2 * r * stride + 2 * c * s.inputs;
      for (int64_t p = 0; p < s.kernel; ++p) {
        for (int64_t t = 0; t < across; ++t) patch[p * stride + t] += at_taps[p * across + t];
      }
    }
  }
}
ISINGLASS_BY_WIDTH(void, backward_chain,
                   (const FrontShape& s, const float* at_out, const float* weights, float* padded,
                    float* at_taps),
                   (s, at_out, weights, padded, at_taps))

template <class T>
void backward(const FrontShape& s, const T* at_out, const float* weights, float* at_image) {
  const int64_t half = s.kernel / 2, row = s.width * s.inputs, stride = padded_row(s);
  const int64_t padded = (s.height + 2 * half) * stride;
  const int64_t outputs = s.height / 2 * (s.width / 2) * s.outputs;
  const int64_t widened_outputs = std::is_same_v<T, float> ? 0 : outputs;
  const int64_t size = padded + s.padded_taps() + widened_outputs;
  std::vector<float> scratch(s.chains * size);
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, s.chains * outputs);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t b = 0; b < s.chains; ++b) {
    float *mine = scratch.data() + b * size, *at_taps = mine + padded;
    const T* from_out = at_out + b * outputs;
    if constexpr (std::is_same_v<T, float>) {
      backward_chain(s, from_out, weights, mine, at_taps);
    } else {
      float* wide = at_taps + s.padded_taps();
      for (int64_t i = 0; i < outputs; ++i) wide[i] = widened(from_out[i]);
      backward_chain(s, wide, weights, mine, at_taps);
    }
    for (int64_t y = 0; y < s.height; ++y) {
      const float* from = mine + (y + half) * stride + half * s.inputs;
      float* to = at_image + (b * s.height + y) * row;
      for (int64_t i = 0; i < row; ++i) to[i] += from[i];
    }
  }
}

}  // namespace

void front(const FrontShape& s, const float* image, const float* weights, const float* bias,
           float* out) {
  const int64_t half = s.kernel / 2, row = s.width * s.inputs, stride = padded_row(s);
  const int64_t size = (s.height + 2 * half) * stride;
  const int64_t outputs = s.height / 2 * (s.width / 2) * s.outputs;
  std::vector<float> padded(s.chains * size);
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, s.chains * outputs);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t b = 0; b < s.chains; ++b) {
    float* mine = padded.data() + b * size;
    for (int64_t y = 0; y < s.height; ++y) {
      std::copy_n(image + (b * s.height + y) * row, row,
                  mine + (y + half) * stride + half * s.inputs);
    }
    forward_chain(s, mine, weights, bias, out + b * outputs);
  }
}

void front_backward(const FrontShape& s, const float* at_out, const float* weights,
                    float* at_image) {
  backward(s, at_out, weights, at_image);
}

void front_backward(const FrontShape& s, const Bfloat16* at_out, const float* weights,
                    float* at_image) {
  backward(s, at_out, weights, at_image);
}

}  // namespace isinglass::cpu
