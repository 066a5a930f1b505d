// Implements winograd.h. A thread takes kRows tiles at a time: it transforms their patches, makes
// the 36 products of matrices [kRows, inputs]·[inputs, outputs], and transforms these to outputs.
// For the gradient in the weights, the threads transform kSummed tiles together, and each adds some
// of the 36 products [inputs, kSummed]·[kSummed, outputs] to what the tiles before have given.
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
// With 64 channels, 64 tiles took less time than 32, 128 or 256. Their patches and gradients take
// 1.2 MB.
constexpr int64_t kSummed = 64;

// The transforms evaluate polynomials at the points 0, ±a, ±b and ∞. With a = 2/3 and b = 3/2 the
// error is half of that with the usual 1 and 2 (Barabasz et al. 2020, arXiv:1803.10986, on the
// choice of points), and a²b² = 1 saves factors.
constexpr double kA = 2.0 / 3, kB = 3.0 / 2, kA2 = kA * kA, kB2 = kB * kB;

// The rows of G and G₄ at ±a and at ±b have these factors.
constexpr double kOfA = 1 / (2 * kA2 * (kA2 - kB2)), kOfB = 1 / (2 * kB2 * (kB2 - kA2));

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

// Computes G₄ d.
template <class V>
[[gnu::always_inline]] inline void transform_gradients(const V (&d)[kTile], V (&t)[kPatch]) {
  constexpr float a = kOfA, a1 = kOfA * kA, a2 = kOfA * kA2, a3 = kOfA * kA2 * kA;
  constexpr float b = kOfB, b1 = kOfB * kB, b2 = kOfB * kB2, b3 = kOfB * kB2 * kB;
  const V even_a = a * d[0] + a2 * d[2], odd_a = a1 * d[1] + a3 * d[3];
  const V even_b = b * d[0] + b2 * d[2], odd_b = b1 * d[1] + b3 * d[3];
  t[0] = d[0];
  t[1] = even_a + odd_a;
  t[2] = even_a - odd_a;
  t[3] = even_b + odd_b;
  t[4] = even_b - odd_b;
  t[5] = d[3];
}

// Computes A₃ᵀ m.
template <class V>
[[gnu::always_inline]] inline void transform_weights(const V (&m)[kPatch], V (&s)[3]) {
  constexpr float a = kA, b = kB, a2 = kA2, b2 = kB2;
  const V sum_a = m[1] + m[2], sum_b = m[3] + m[4];
  s[0] = m[0] + sum_a + sum_b;
  s[1] = a * (m[1] - m[2]) + b * (m[3] - m[4]);
  s[2] = a2 * sum_a + b2 * sum_b + m[5];
}

// Applies a transform to the columns and then to the rows of kFrom×kFrom vectors read(row, column),
// and writes the kTo×kTo results by write(row, column, result).
template <int64_t kFrom, int64_t kTo, class V, class Read, class Transform, class Write>
[[gnu::always_inline]] inline void both_ways(Read read, Transform transform, Write write) {
  V half[kFrom][kTo];  // [column][row]
  for (int64_t q = 0; q < kFrom; ++q) {
    V column[kFrom];
    for (int64_t p = 0; p < kFrom; ++p) column[p] = read(p, q);
    transform(column, half[q]);
  }
  for (int64_t p = 0; p < kTo; ++p) {
    V row[kFrom], result[kTo];
    for (int64_t q = 0; q < kFrom; ++q) row[q] = half[q][p];
    transform(row, result);
    for (int64_t q = 0; q < kTo; ++q) write(p, q, result[q]);
  }
}

// Applies a transform to kFrom×kFrom positions, given a pointer to the channels of each. Writes the
// 36 results `stride` numbers apart.
template <int64_t kFrom, class V, class Transform>
[[gnu::always_inline]] inline void to_factors(const float* const* from, int64_t channels, float* to,
                                              int64_t stride, Transform transform) {
  constexpr int64_t kLanes = sizeof(V) / sizeof(float);
  for (int64_t c = 0; c < channels; c += kLanes) {
    both_ways<kFrom, kPatch, V>(
        [&](int64_t p, int64_t q) { return *reinterpret_cast<const V*>(from[p * kFrom + q] + c); },
        transform,
        [&](int64_t p, int64_t q, const V& t) {
          *reinterpret_cast<V*>(to + (p * kPatch + q) * stride + c) = t;
        });
  }
}

// Transforms a patch.
template <int kBytes>
[[gnu::always_inline]] inline void transform_patch_of(const float* const* patch, int64_t inputs,
                                                      float* to, int64_t stride) {
  using V = Vector<float, kBytes>;
  to_factors<kPatch, V>(patch, inputs, to, stride, transform_inputs<V>);
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
    both_ways<kPatch, kTile, V>(
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

// Computes kVectors vectors of the columns of `count` rows of left·right, rounded up to whole
// blocks. With kAdd, left is given by its columns, and the product is added to `out`.
template <int kBytes, int kVectors, bool kAdd>
[[gnu::always_inline]] inline void columns_of(int64_t count, int64_t inner, int64_t columns,
                                              int64_t left_stride, const float* left,
                                              const float* right, float* out) {
  using V = Vector<float, kBytes>;
  constexpr int64_t kLanes = kBytes / 4;
  const int64_t of_row = kAdd ? 1 : left_stride, of_inner = kAdd ? left_stride : 1;
  for (int64_t first = 0; first < count; first += kBlock) {
    const float* x = left + first * of_row;
    V sum[kBlock][kVectors] = {};
    for (int64_t i = 0; i < inner; ++i) {
      V w[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        w[v] = *reinterpret_cast<const V*>(right + i * columns + v * kLanes);
      }
      for (int64_t r = 0; r < kBlock; ++r) {
        for (int v = 0; v < kVectors; ++v) sum[r][v] += x[r * of_row + i * of_inner] * w[v];
      }
    }
    for (int64_t r = 0; r < kBlock; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        V& to = *reinterpret_cast<V*>(out + (first + r) * columns + v * kLanes);
        to = kAdd ? to + sum[r][v] : sum[r][v];
      }
    }
  }
}

template <int kBytes, bool kAdd>
[[gnu::always_inline]] inline void all_columns_of(int64_t count, int64_t inner, int64_t columns,
                                                  int64_t left_stride, const float* left,
                                                  const float* right, float* out) {
  constexpr int64_t kLanes = kBytes / 4;
  constexpr int kMost = kBytes == 64 ? 4 : 2;  // as the vector registers allow
  int64_t o = 0;
  for (; o + kMost * kLanes <= columns; o += kMost * kLanes) {
    columns_of<kBytes, kMost, kAdd>(count, inner, columns, left_stride, left, right + o, out + o);
  }
  for (; o < columns; o += kLanes) {
    columns_of<kBytes, 1, kAdd>(count, inner, columns, left_stride, left, right + o, out + o);
  }
}

// Multiplies rows [count, inputs] with weights [inputs, outputs].
template <int kBytes>
[[gnu::always_inline]] inline void product_of(int64_t count, int64_t inputs, int64_t outputs,
                                              const float* rows, const float* weights, float* out) {
  all_columns_of<kBytes, /*kAdd=*/false>(count, inputs, outputs, inputs, rows, weights, out);
}
ISINGLASS_BY_WIDTH(void, product,
                   (int64_t count, int64_t inputs, int64_t outputs, const float* rows,
                    const float* weights, float* out),
                   (count, inputs, outputs, rows, weights, out))

// Adds xᵀ·y to sums [inputs rounded up to whole blocks, outputs], where x is [count, inputs] and y
// [count, outputs].
template <int kBytes>
[[gnu::always_inline]] inline void add_product_of(int64_t count, int64_t inputs, int64_t outputs,
                                                  const float* x, const float* y, float* sums) {
  all_columns_of<kBytes, /*kAdd=*/true>(inputs, count, outputs, inputs, x, y, sums);
}
ISINGLASS_BY_WIDTH(void, add_product,
                   (int64_t count, int64_t inputs, int64_t outputs, const float* x, const float* y,
                    float* sums),
                   (count, inputs, outputs, x, y, sums))

// Transforms a tile of the gradient in the output.
template <int kBytes>
[[gnu::always_inline]] inline void transform_gradient_of(const float* const* tile, int64_t outputs,
                                                         float* to, int64_t stride) {
  using V = Vector<float, kBytes>;
  to_factors<kTile, V>(tile, outputs, to, stride, transform_gradients<V>);
}
ISINGLASS_BY_WIDTH(void, transform_gradient,
                   (const float* const* tile, int64_t outputs, float* to, int64_t stride),
                   (tile, outputs, to, stride))

// Finds the channels of the positions of a tile, counted over all chains, and of its patch.
struct TileAt {
  const WinogradShape& shape;
  int64_t chain, top, left;  // the first row and column of its outputs

  TileAt(const WinogradShape& s, int64_t number) : shape(s), chain(number / s.tiles()) {
    const int64_t tile = number % s.tiles();
    top = tile / s.tiles_across() * kTile;
    left = tile % s.tiles_across() * kTile;
  }

  // Points at the channels of kSize×kSize positions of a map, of which the first is `before` rows
  // and columns before the tile's; positions outside of the map have those at `outside`.
  template <int64_t kSize, class Float>
  void find(Float* map, int64_t channels, int64_t before, Float* outside,
            Float* (&found)[kSize * kSize]) const {
    for (int64_t p = 0; p < kSize; ++p) {
      for (int64_t q = 0; q < kSize; ++q) {
        const int64_t y = top + p - before, c = left + q - before;
        const bool inside = y >= 0 && y < shape.height && c >= 0 && c < shape.width;
        found[p * kSize + q] =
            inside ? map + ((chain * shape.height + y) * shape.width + c) * channels : outside;
      }
    }
  }
};

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
  for (int64_t t = first; t < end; ++t) {
    const float* patch[kPatch * kPatch];
    TileAt(s, t).find<kPatch, const float>(x, s.inputs, 1, own.zeros.data(), patch);
    transform_patch(patch, s.inputs, own.patches.data() + (t - first) * s.inputs, kRows * s.inputs);
  }
  for (int64_t n = 0; n < kWinogradProducts; ++n) {
    product(end - first, s.inputs, s.outputs, own.patches.data() + n * kRows * s.inputs,
            weights + n * s.inputs * s.outputs, own.products.data() + n * kRows * s.outputs);
  }
  for (int64_t t = first; t < end; ++t) {
    float* tile[kTile * kTile];
    TileAt(s, t).find<kTile, float>(out, s.outputs, 0, own.unused.data(), tile);
    transform_tile(own.products.data() + (t - first) * s.outputs, kRows * s.outputs, bias,
                   s.outputs, tile);
  }
}

// Holds G.
constexpr double kWeightRows[kPatch][3] = {{1, 0, 0},
                                           {kOfA, kOfA* kA, kOfA* kA2},
                                           {kOfA, -kOfA* kA, kOfA* kA2},
                                           {kOfB, kOfB* kB, kOfB* kB2},
                                           {kOfB, -kOfB* kB, kOfB* kB2},
                                           {0, 0, 1}};

}  // namespace

void winograd_weights(int64_t outputs, int64_t inputs, const float* w, bool transposed,
                      float* weights) {
  constexpr int64_t kLanes = 16;  // channels at a time, which are neighbours in the result
  const int64_t columns = transposed ? inputs : outputs, rows = transposed ? outputs : inputs;
  const int64_t of_column = transposed ? 9 : inputs * 9, of_row = transposed ? inputs * 9 : 9;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t first = 0; first < columns; first += kLanes) {
      double tap[9][kLanes];
      for (int64_t k = 0; k < 9; ++k) {
        const float* from = w + row * of_row + first * of_column + (transposed ? 8 - k : k);
        for (int64_t n = 0; n < kLanes; ++n) tap[k][n] = from[n * of_column];
      }
      float* to = weights + row * columns + first;
      for (const auto& p : kWeightRows) {
        double half[3][kLanes] = {};  // row p of G w
        for (int64_t k = 0; k < 9; ++k) {
          for (int64_t n = 0; n < kLanes; ++n) half[k % 3][n] += p[k / 3] * tap[k][n];
        }
        for (const auto& q : kWeightRows) {
          for (int64_t n = 0; n < kLanes; ++n) {
            to[n] = static_cast<float>(half[0][n] * q[0] + half[1][n] * q[1] + half[2][n] * q[2]);
          }
          to += rows * columns;
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

void winograd_weight_gradient(const WinogradShape& s, const float* x, const float* at_output,
                              float* gradient) {
  const int64_t tiles = s.chains * s.tiles();
  const int64_t rows = (s.inputs + kBlock - 1) / kBlock * kBlock;
  // The last block of rows reads up to kBlock numbers beyond the patches, for unused sums.
  std::vector<float> patches(kWinogradProducts * kSummed * s.inputs + kBlock);
  std::vector<float> gradients(kWinogradProducts * kSummed * s.outputs);
  std::vector<float> sums(kWinogradProducts * rows * s.outputs);
  std::vector<float> zeros(std::max(s.inputs, s.outputs));
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, tiles * kWinogradProducts * s.inputs);
#pragma omp parallel if (loop.on_all_threads())
  for (int64_t first = 0; first < tiles; first += kSummed) {
    const int64_t count = std::min(kSummed, tiles - first);
#pragma omp for schedule(static)
    for (int64_t t = 0; t < count; ++t) {
      const TileAt at(s, first + t);
      const float *patch[kPatch * kPatch], *tile[kTile * kTile];
      at.find<kPatch, const float>(x, s.inputs, 1, zeros.data(), patch);
      transform_patch(patch, s.inputs, patches.data() + t * s.inputs, kSummed * s.inputs);
      at.find<kTile, const float>(at_output, s.outputs, 0, zeros.data(), tile);
      transform_gradient(tile, s.outputs, gradients.data() + t * s.outputs, kSummed * s.outputs);
    }
#pragma omp for schedule(static)
    for (int64_t n = 0; n < kWinogradProducts; ++n) {
      add_product(count, s.inputs, s.outputs, patches.data() + n * kSummed * s.inputs,
                  gradients.data() + n * kSummed * s.outputs, sums.data() + n * rows * s.outputs);
    }
  }
  for (int64_t i = 0; i < s.inputs; ++i) {
    for (int64_t o = 0; o < s.outputs; ++o) {
      both_ways<kPatch, 3, float>(
          [&](int64_t p, int64_t q) { return sums[((p * kPatch + q) * rows + i) * s.outputs + o]; },
          transform_weights<float>,
          [&](int64_t p, int64_t q, float w) {
            gradient[((o * s.inputs + i) * 3 + p) * 3 + q] = w;
          });
    }
  }
}

}  // namespace isinglass::cpu
