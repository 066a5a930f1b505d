// Implements winograd.h. A thread takes kRows tiles at a time: it transforms their patches, makes
// the 36 products of matrices [kRows, inputs]·[inputs, outputs], and transforms these to outputs.
#include <algorithm>
#include <vector>

#include "kernels/base/threads_cpu.h"
#include "kernels/base/vectors_cpu.h"
#include "kernels/network/winograd.h"

namespace isinglass::cpu {
namespace {

constexpr int64_t kTile = 4, kPatch = 6;
// kRows tiles of 64 channels take 110 KB before and after the products, which stay in the second
// level of the cache. A register block of the products has kBlock rows.
constexpr int64_t kRows = 12, kBlock = 6;
static_assert(kRows % kBlock == 0);

// The transforms evaluate polynomials at the points 0, ±a, ±b and ∞. With a = 2/3 and b = 3/2 the
// error is half of that with the usual 1 and 2 (Barabasz et al. 2020, arXiv:1803.10986, on the
// choice of points), and a²b² = 1 saves factors.
constexpr double kA = 2.0 / 3, kB = 3.0 / 2, kA2 = kA * kA, kB2 = kB * kB;

// Computes Bᵀ d.
template <class V>
[[gnu::always_inline]] inline void transform_inputs(const V (&d)[kPatch], V (&t)[kPatch]) {
  constexpr float a = kA, b = kB, a2 = kA2, b2 = kB2, both = kA2 + kB2;
  const V even_a = d[4] - b2 * d[2], odd_a = d[3] - b2 * d[1];
  const V even_b = d[4] - a2 * d[2], odd_b = d[3] - a2 * d[1];
  t[0] = d[0] - both * d[2] + d[4];
  t[1] = even_a + a * odd_a;
  t[2] = even_a - a * odd_a;
  t[3] = even_b + b * odd_b;
  t[4] = even_b - b * odd_b;
  t[5] = d[1] - both * d[3] + d[5];
}

// Computes Aᵀ m.
template <class V>
[[gnu::always_inline]] inline void transform_outputs(const V (&m)[kPatch], V (&s)[kTile]) {
  constexpr float a = kA, b = kB, a2 = kA2, b2 = kB2, a3 = kA2 * kA, b3 = kB2 * kB;
  const V sum_a = m[1] + m[2], difference_a = m[1] - m[2];
  const V sum_b = m[3] + m[4], difference_b = m[3] - m[4];
  s[0] = m[0] + sum_a + sum_b;
  s[1] = a * difference_a + b * difference_b;
  s[2] = a2 * sum_a + b2 * sum_b;
  s[3] = a3 * difference_a + b3 * difference_b + m[5];
}

// Applies a transform to the columns and then to the rows of 6×6 vectors read(row, column), and
// writes the kSize×kSize results by write(row, column, result).
template <int64_t kSize, class V, class Read, class Transform, class Write>
[[gnu::always_inline]] inline void both_ways(Read read, Transform transform, Write write) {
  V half[kPatch][kSize];  // [column][row]
  for (int64_t q = 0; q < kPatch; ++q) {
    V column[kPatch];
    for (int64_t p = 0; p < kPatch; ++p) column[p] = read(p, q);
    transform(column, half[q]);
  }
  for (int64_t p = 0; p < kSize; ++p) {
    V row[kPatch], result[kSize];
    for (int64_t q = 0; q < kPatch; ++q) row[q] = half[q][p];
    transform(row, result);
    for (int64_t q = 0; q < kSize; ++q) write(p, q, result[q]);
  }
}

// Transforms a patch, given a pointer to the channels of each of its 36 positions. Writes the 36
// results `stride` numbers apart.
template <int kBytes>
[[gnu::always_inline]] inline void transform_patch_of(const float* const* patch, int64_t inputs,
                                                      float* to, int64_t stride) {
  using V = Vector<float, kBytes>;
  for (int64_t i = 0; i < inputs; i += kBytes / 4) {
    both_ways<kPatch, V>(
        [&](int64_t p, int64_t q) {
          return *reinterpret_cast<const V*>(patch[p * kPatch + q] + i);
        },
        transform_inputs<V>,
        [&](int64_t p, int64_t q, const V& t) {
          *reinterpret_cast<V*>(to + (p * kPatch + q) * stride + i) = t;
        });
  }
}
ISINGLASS_BY_WIDTH(void, transform_patch,
                   (const float* const* patch, int64_t inputs, float* to, int64_t stride),
                   (patch, inputs, to, stride))

// Transforms products, which are `stride` numbers apart, to a tile, given a pointer to the channels
// of each of its 16 positions.
template <int kBytes>
[[gnu::always_inline]] inline void transform_tile_of(const float* from, int64_t stride,
                                                     const float* bias, int64_t outputs,
                                                     float* const* tile) {
  using V = Vector<float, kBytes>;
  for (int64_t o = 0; o < outputs; o += kBytes / 4) {
    const V b = bias ? *reinterpret_cast<const V*>(bias + o) : V{};
    both_ways<kTile, V>(
        [&](int64_t p, int64_t q) {
          return *reinterpret_cast<const V*>(from + (p * kPatch + q) * stride + o);
        },
        transform_outputs<V>,
        [&](int64_t p, int64_t q, const V& s) {
          *reinterpret_cast<V*>(tile[p * kTile + q] + o) = s + b;
        });
  }
}
ISINGLASS_BY_WIDTH(void, transform_tile,
                   (const float* from, int64_t stride, const float* bias, int64_t outputs,
                    float* const* tile),
                   (from, stride, bias, outputs, tile))

// Computes kVectors vectors of the outputs of `count` rows, rounded up to whole blocks.
template <int kBytes, int kVectors>
[[gnu::always_inline]] inline void columns_of(int64_t count, int64_t inputs, int64_t outputs,
                                              const float* rows, const float* weights, float* out) {
  using V = Vector<float, kBytes>;
  constexpr int64_t kLanes = kBytes / 4;
  for (int64_t first = 0; first < count; first += kBlock) {
    const float* x = rows + first * inputs;
    V sum[kBlock][kVectors] = {};
    for (int64_t i = 0; i < inputs; ++i) {
      V w[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        w[v] = *reinterpret_cast<const V*>(weights + i * outputs + v * kLanes);
      }
      for (int64_t r = 0; r < kBlock; ++r) {
        for (int v = 0; v < kVectors; ++v) sum[r][v] += x[r * inputs + i] * w[v];
      }
    }
    for (int64_t r = 0; r < kBlock; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        *reinterpret_cast<V*>(out + (first + r) * outputs + v * kLanes) = sum[r][v];
      }
    }
  }
}

// Multiplies rows [count, inputs] with weights [inputs, outputs].
template <int kBytes>
[[gnu::always_inline]] inline void product_of(int64_t count, int64_t inputs, int64_t outputs,
                                              const float* rows, const float* weights, float* out) {
  constexpr int64_t kLanes = kBytes / 4;
  constexpr int kMost = kBytes == 64 ? 4 : 2;  // as the vector registers allow
  int64_t o = 0;
  for (; o + kMost * kLanes <= outputs; o += kMost * kLanes) {
    columns_of<kBytes, kMost>(count, inputs, outputs, rows, weights + o, out + o);
  }
  for (; o < outputs; o += kLanes) {
    columns_of<kBytes, 1>(count, inputs, outputs, rows, weights + o, out + o);
  }
}
ISINGLASS_BY_WIDTH(void, product,
                   (int64_t count, int64_t inputs, int64_t outputs, const float* rows,
                    const float* weights, float* out),
                   (count, inputs, outputs, rows, weights, out))

// Holds what a thread needs for kRows tiles.
struct Buffers {
  std::vector<float> patches, products;
  std::vector<float> zeros, unused;  // the channels of a position outside of the map

  explicit Buffers(const WinogradShape& s)
      : patches(kWinogradProducts * kRows * s.inputs),
        products(kWinogradProducts * kRows * s.outputs),
        zeros(s.inputs),
        unused(s.outputs) {}
};

// Computes the tiles first … end − 1, at most kRows, counted over all chains.
void tiles_from(const WinogradShape& s, int64_t first, int64_t end, const float* x,
                const float* weights, const float* bias, float* out, Buffers& own) {
  const auto each = [&](auto&& run) {  // run(row, chain, first row and column of the tile)
    for (int64_t t = first; t < end; ++t) {
      const int64_t tile = t % s.tiles();
      run(t - first, t / s.tiles(), tile / s.tiles_across() * kTile,
          tile % s.tiles_across() * kTile);
    }
  };
  const auto inside = [&](int64_t y, int64_t c) {
    return y >= 0 && y < s.height && c >= 0 && c < s.width;
  };
  each([&](int64_t row, int64_t chain, int64_t top, int64_t left) {
    const float* patch[kPatch * kPatch];
    for (int64_t p = 0; p < kPatch; ++p) {
      for (int64_t q = 0; q < kPatch; ++q) {
        const int64_t y = top + p - 1, c = left + q - 1;
        patch[p * kPatch + q] =
            inside(y, c) ? x + ((chain * s.height + y) * s.width + c) * s.inputs : own.zeros.data();
      }
    }
    transform_patch(patch, s.inputs, own.patches.data() + row * s.inputs, kRows * s.inputs);
  });
  for (int64_t n = 0; n < kWinogradProducts; ++n) {
    product(end - first, s.inputs, s.outputs, own.patches.data() + n * kRows * s.inputs,
            weights + n * s.inputs * s.outputs, own.products.data() + n * kRows * s.outputs);
  }
  each([&](int64_t row, int64_t chain, int64_t top, int64_t left) {
    float* tile[kTile * kTile];
    for (int64_t p = 0; p < kTile; ++p) {
      for (int64_t q = 0; q < kTile; ++q) {
        const int64_t y = top + p, c = left + q;
        tile[p * kTile + q] = inside(y, c)
                                  ? out + ((chain * s.height + y) * s.width + c) * s.outputs
                                  : own.unused.data();
      }
    }
    transform_tile(own.products.data() + row * s.outputs, kRows * s.outputs, bias, s.outputs, tile);
  });
}

// Holds G.
constexpr double kOfA = 1 / (2 * kA2 * (kA2 - kB2)), kOfB = 1 / (2 * kB2 * (kB2 - kA2));
constexpr double kWeightRows[kPatch][3] = {{1, 0, 0},
                                           {kOfA, kOfA* kA, kOfA* kA2},
                                           {kOfA, -kOfA* kA, kOfA* kA2},
                                           {kOfB, kOfB* kB, kOfB* kB2},
                                           {kOfB, -kOfB* kB, kOfB* kB2},
                                           {0, 0, 1}};

}  // namespace

void winograd_weights(int64_t outputs, int64_t inputs, const float* w, bool transposed,
                      float* weights) {
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i, w += 9) {
      const int64_t at = transposed ? o * inputs + i : i * outputs + o;
      for (int64_t p = 0; p < kPatch; ++p) {
        double half[3] = {};  // row p of G w
        for (int k = 0; k < 9; ++k)
          half[k % 3] += kWeightRows[p][k / 3] * w[transposed ? 8 - k : k];
        for (int64_t q = 0; q < kPatch; ++q) {
          double sum = 0;
          for (int k = 0; k < 3; ++k) sum += half[k] * kWeightRows[q][k];
          weights[(p * kPatch + q) * inputs * outputs + at] = static_cast<float>(sum);
        }
      }
    }
  }
}

void winograd(const WinogradShape& s, const float* x, const float* weights, const float* bias,
              float* out) {
  const int64_t tiles = s.chains * s.tiles();
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, tiles * kWinogradProducts * s.inputs);
#pragma omp parallel if (loop.on_all_threads())
  {
    Buffers own(s);
#pragma omp for schedule(static)
    for (int64_t first = 0; first < tiles; first += kRows) {
      tiles_from(s, first, std::min(tiles, first + kRows), x, weights, bias, out, own);
    }
  }
}

}  // namespace isinglass::cpu
