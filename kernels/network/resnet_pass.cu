// Computes a ResNet's output and its gradient (CUDA version of resnet_pass.h).
//
// Regime: one block per chain and 7·C threads, at least 128. All maps of a chain stay in shared
// memory, and so do the weights of eight input channels at a time, in two stages that alternate. A
// thread adds up 28 outputs, of four channels and seven positions in a row: 84 products for six
// 16-byte loads. At half size, a row has two such tiles; at quarter size, four shares of the input
// channels have their own threads, whose sums are then added in shared memory, so that every thread
// ends with seven outputs of one channel. A swish's derivatives are kept in global memory, where
// only the thread that wrote them reads them. 155 KiB of shared memory for C = 64, 77 for 32, 39
// for 16. It serves images of at most 28×28 pixels with even sides; others take LibTorch's
// convolutions.
#include <algorithm>

#include "kernels/base/four_cuda.h"
#include "kernels/base/launch.h"
#include "kernels/network/resnet_pass.h"
#include "kernels/network/swish.h"

namespace isinglass::cuda {
namespace {

constexpr int kRow = ResNetTiles::kRow, kShares = ResNetTiles::kShares;
constexpr int kStageChannels = ResNetTiles::kStageChannels;
// Floats in a row of a map, and in a channel. A row and a column of zeros surround the positions;
// the rest of a row is never used.
constexpr int kHalfRow = ResNetTiles::kHalfRow, kQuarterRow = ResNetTiles::kQuarterRow;
constexpr int kHalfMap = ResNetTiles::kHalfMap, kQuarterMap = ResNetTiles::kQuarterMap;

// Holds a thread's sums, of four channels and seven positions in a row.
using Sums = float[4][kRow];

// Reads `words` times four numbers.
template <int words>
__device__ inline void read_row(const float* at, float (&numbers)[4 * words]) {
#pragma unroll
  for (int n = 0; n < words; ++n) {
    const Four four = load_four(at + 4 * n);
#pragma unroll
    for (int k = 0; k < 4; ++k) numbers[4 * n + k] = four.of[k];
  }
}

// Adds the products of one input channel's three rows with its weights [9, C]. `rows` is the first
// of the row's aligned numbers; the tile begins `offset` numbers behind it.
template <int channels, int stride, int offset, int row>
__device__ inline void add_channel(const float* rows, const float* w, Sums& sums) {
  constexpr int kWords = (offset + stride * (kRow - 1) + 3 + 3) / 4;
#pragma unroll
  for (int dy = 0; dy < 3; ++dy) {
    float near[4 * kWords];
    read_row<kWords>(rows + dy * row, near);
#pragma unroll
    for (int dx = 0; dx < 3; ++dx) {
      const Four four = load_four(w + (3 * dy + dx) * channels);
#pragma unroll
      for (int o = 0; o < 4; ++o) {
#pragma unroll
        for (int j = 0; j < kRow; ++j) {
          sums[o][j] = fmaf(four.of[o], near[offset + stride * j + dx], sums[o][j]);
        }
      }
    }
  }
}

// Adds the products of one row of a quarter map with three reversed taps of the strided
// convolution, to a row of half size that begins at column 7·tile.
template <int channels, int tile>
__device__ inline void add_transposed_row(const float* from, const float* w, Sums& sums) {
  constexpr int kFirst = 4 * tile;
  float near[8];
  read_row<2>(from + kFirst, near);
#pragma unroll
  for (int dx = 0; dx < 3; ++dx) {
    const Four four = load_four(w + (2 - dx) * channels);
#pragma unroll
    for (int j = 0; j < kRow; ++j) {
      const int twice = kRow * tile + j + 1 - dx;  // twice the column in the quarter map
      if (twice % 2 != 0) continue;
#pragma unroll
      for (int o = 0; o < 4; ++o) {
        sums[o][j] = fmaf(four.of[o], near[twice / 2 + 1 - kFirst], sums[o][j]);
      }
    }
  }
}

// Holds what a block does for one chain. All threads of the block must call every public method.
template <int channels>
class Pass {
 public:
  using Tiles = ResNetTiles;
  static constexpr int kThreads = static_cast<int>(Tiles::threads(channels));
  static constexpr int kGroups = channels / 4, kQuarterItems = kRow * kGroups;
  static constexpr int kStage = kStageChannels * 9 * channels, kStages = channels / kStageChannels;
  static constexpr int kFetches = (kStage / 4 + kThreads - 1) / kThreads;

  __device__ Pass(const ResNetShape& s, const ResNetWeights& weights, float* slopes)
      : s_(s), w_(weights), slopes_(slopes) {}

  // Computes net and stores the derivatives, unless there is no memory for them.
  __device__ double forward(const float* image) {
    clear();
    __syncthreads();
    Sums sums;
    if (any()) {
      front<5>(image, w_.front, w_.front_bias, nullptr, sums);
      store_half(sums, 0);
    }
    __syncthreads();
    if (any()) front<3>(image, w_.front_shortcut, w_.shortcut_bias, bias(0), sums);
    begin_weights();
    convolve_half(sums);
    __syncthreads();  // Waits until all have read the map before it is overwritten.
    if (any()) store_half(sums, kHalfSlopes);
    __syncthreads();
    strided_shortcut();
    float total[kRow];
    convolve_quarter<2>(half(), total);
    store_quarter(total, b(), 1);
#pragma unroll 1
    for (int n = 2; n < ResNetShape::kConvolutions; ++n) {
      const bool second = n % 2 == 0;  // of a block
      __syncthreads();
      convolve_quarter<1>(second ? b() : a(), total);
      store_quarter(total, second ? a() : b(), n);
    }
    double sum = 0;
    if (any_small()) {
#pragma unroll
      for (int j = 0; j < kRow; ++j) {
        if (j >= small_width()) continue;
        sum += static_cast<double>(a()[own_place(j)]) * w_.head[head_index(j)];
      }
    }
    const double parts = s_.linear_head ? 1 : static_cast<double>(s_.positions());
    return block_sum(sum) / parts + *w_.head_bias;
  }

  // Computes the gradient in the image. It must follow forward() with derivatives.
  __device__ void backward(float* at_image) {
    constexpr int kLast = ResNetShape::kConvolutions - 1;
    const float parts = s_.linear_head ? 1.0f : static_cast<float>(s_.positions());
    if (any_small()) {
#pragma unroll
      for (int j = 0; j < kRow; ++j) {
        if (j >= small_width()) continue;
        a()[own_place(j)] = w_.head[head_index(j)] / parts * slope(kLast, j);
      }
    }
#pragma unroll 1
    for (int n = kLast; n > 1; --n) {
      const bool second = n % 2 == 0;  // of a block
      __syncthreads();
      float total[kRow];
      convolve_quarter<1>(second ? a() : b(), total);
      if (!any_small()) continue;
      float* const out = second ? b() : a();
#pragma unroll
      for (int j = 0; j < kRow; ++j) {
        if (j >= small_width()) continue;
        float& g = out[own_place(j)];
        g = (second ? total[j] : g + total[j]) * slope(n - 1, j);
      }
    }
    __syncthreads();
    Sums sums = {};
    transposed(sums);
    if (any()) store_gradient(sums, kHalfSlopes, half());
    __syncthreads();
#pragma unroll
    for (auto& row : sums) {
#pragma unroll
      for (float& sum : row) sum = 0;
    }
    convolve_half(sums);
    __syncthreads();  // Waits until all have read the weights before they are overwritten.
    float* const at_front = a();  // takes the place of the quarter maps and of the weights
    if (any()) store_gradient(sums, 0, at_front);
    __syncthreads();
    image_gradient(at_front, at_image);
    __syncthreads();
  }

 private:
  static constexpr int kHalfSlopes = 4 * kRow;

  // Return the parts of shared memory: the half map, the two quarter maps, and the weights or sums.
  __device__ static float* half() { return dynamic_shared_memory<float>(); }
  __device__ static float* a() { return half() + channels * kHalfMap; }
  __device__ static float* b() { return a() + channels * kQuarterMap; }
  __device__ static float* stages() { return b() + channels * kQuarterMap; }

  __device__ int height() const { return static_cast<int>(s_.half_height()); }
  __device__ int width() const { return static_cast<int>(s_.half_width()); }
  __device__ int small_height() const { return static_cast<int>(s_.quarter_height()); }
  __device__ int small_width() const { return static_cast<int>(s_.quarter_width()); }

  // Return the thread's part at half size: four channels from channel() on, a row, the left or the
  // right tile, and whether there is such a tile.
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int channel() { return thread() % kGroups * 4; }
  __device__ bool right() const { return thread() / kGroups >= height(); }
  __device__ int row() const { return thread() / kGroups - (right() ? height() : 0); }
  __device__ bool any() const {
    return row() < height() && (!right() || width() > kRow) && thread() < kRow * channels;
  }
  // Return its part at quarter size: a share of the input channels for a row of four channels from
  // small_channel() on, and then one of the four, own().
  __device__ static int share() { return thread() / kQuarterItems; }
  __device__ static int item() { return thread() % kQuarterItems; }
  __device__ static int small_channel() { return item() % kGroups * 4; }
  __device__ static int small_row() { return item() / kGroups; }
  __device__ static int own() { return small_channel() + share(); }
  __device__ bool any_small() const { return share() < kShares && small_row() < small_height(); }

  __device__ const float* bias(int n) const { return w_.bias + n * channels; }
  // Returns the place of the thread's output in column j of a quarter map.
  __device__ int own_place(int j) const {
    return own() * kQuarterMap + (small_row() + 1) * kQuarterRow + j + 1;
  }
  __device__ int64_t head_index(int j) const {
    return s_.linear_head ? (own() * small_height() + small_row()) * small_width() + j : own();
  }
  // Returns the derivative number k of this thread.
  __device__ float& kept(int k) const { return slopes_[k * kThreads + threadIdx.x]; }
  // Returns the derivative of the swish behind convolution n at column j.
  __device__ float& slope(int n, int j) const { return kept(2 * kHalfSlopes + (n - 1) * kRow + j); }

  __device__ void clear() {
    for (int i = static_cast<int>(threadIdx.x) * 4; i < Tiles::kMaps * channels;
         i += 4 * kThreads) {
      store_four(half() + i, {});
    }
  }

  // Begins to read the weights of the passes' convolutions, which follow each other in memory.
  __device__ void begin_weights() {
    stage_ = 0;
    fetch();
  }
  // Reads the next stage's weights into registers, if there is one.
  __device__ void fetch() {
    if (stage_ == 2 * ResNetShape::kConvolutions * kStages) return;
    const float* const weights = w_.convolution + stage_++ * kStage;
#pragma unroll
    for (int n = 0; n < kFetches; ++n) {
      const int i = (n * kThreads + thread()) * 4;
      if (i < kStage) held_[n] = load_four(weights + i);
    }
  }
  // Calls add(weights, first) for all stages of a convolution: the weights [8, 9, C] of the input
  // channels first … first + 7.
  template <class Add>
  __device__ void for_stages(Add add) {
#pragma unroll 1
    for (int n = 0; n < kStages; ++n) {
      float* const stage = stages() + n % 2 * kStage;
#pragma unroll
      for (int k = 0; k < kFetches; ++k) {
        const int i = (k * kThreads + static_cast<int>(threadIdx.x)) * 4;
        if (i < kStage) store_four(stage + i, held_[k]);
      }
      __syncthreads();
      fetch();
      add(stage, n * kStageChannels);
    }
  }

  // Adds a convolution of the half map.
  __device__ void convolve_half(Sums& sums) {
    for_stages([&](const float* weights, int first) {
      if (!any()) return;
      const float* in = half() + first * kHalfMap + row() * kHalfRow;
      const float* w = weights + channel();
      if (right()) {
#pragma unroll 1
        for (int k = 0; k < kStageChannels; ++k) {
          add_channel<channels, 1, 3, kHalfRow>(in + k * kHalfMap + 4, w + k * 9 * channels, sums);
        }
      } else {
#pragma unroll 1
        for (int k = 0; k < kStageChannels; ++k) {
          add_channel<channels, 1, 0, kHalfRow>(in + k * kHalfMap, w + k * 9 * channels, sums);
        }
      }
    });
  }

  // Computes a convolution of quarter size, of a half map if the stride is 2. total: of the
  // thread's channel and row.
  template <int stride>
  __device__ void convolve_quarter(const float* in, float (&total)[kRow]) {
    constexpr int kInRow = stride == 2 ? kHalfRow : kQuarterRow;
    constexpr int kInMap = stride == 2 ? kHalfMap : kQuarterMap;
    constexpr int kOwn = kStageChannels / kShares;
    Sums sums = {};
    for_stages([&](const float* weights, int first) {
      if (!any_small()) return;
#pragma unroll 1
      for (int k = share() * kOwn; k < (share() + 1) * kOwn; ++k) {
        add_channel<channels, stride, 0, kInRow>(
            in + (first + k) * kInMap + stride * small_row() * kInRow,
            weights + k * 9 * channels + small_channel(), sums);
      }
    });
    __syncthreads();  // Waits until all have read the weights before they are overwritten.
    // Selects, in place of an index into registers, which would move them to local memory.
    float mine[kRow];
#pragma unroll
    for (int j = 0; j < kRow; ++j) {
      mine[j] = share() == 0 ? sums[0][j] : sums[1][j];
      mine[j] = share() >= 2 ? sums[2][j] : mine[j];
      mine[j] = share() >= 3 ? sums[3][j] : mine[j];
    }
    if (any_small()) {
#pragma unroll
      for (int o = 0; o < 4; ++o) {
        if (o == share()) continue;
        float* const out = part(o, share());
#pragma unroll
        for (int j = 0; j < kRow; ++j) out[j * kQuarterItems] = sums[o][j];
      }
    }
    __syncthreads();
    if (!any_small()) return;
#pragma unroll
    for (int n = 0; n < kShares; ++n) {
      const float* const others = part(share(), n == share() ? (n + 1) % kShares : n);
#pragma unroll
      for (int j = 0; j < kRow; ++j) {
        const float other = others[j * kQuarterItems], one = n == share() ? mine[j] : other;
        total[j] = n == 0 ? one : total[j] + one;
      }
    }
  }
  // Returns where the sums of a share for channel o of the item are, unless o is its own.
  __device__ static float* part(int o, int of_share) {
    const int place = o * (kShares - 1) + (of_share < o ? of_share : of_share - 1);
    return stages() + place * kRow * kQuarterItems + item();
  }

  // Computes a composed convolution of the image, with its bias and, unless it is null, another
  // convolution's.
  template <int kernel>
  __device__ void front(const float* image, const float* weights, const float* bias,
                        const float* more, Sums& sums) {
    const int inputs = static_cast<int>(s_.inputs), width = static_cast<int>(s_.width);
    const int taps = kernel * kernel * inputs * channels;
    // The classes of the tile's first column, and of the others.
    const int others = kernel == 5 && row() == 0 ? 2 : 0;
    const int first = kernel == 5 && !right() ? others + 1 : others;
#pragma unroll
    for (int o = 0; o < 4; ++o) {
#pragma unroll
      for (int j = 0; j < kRow; ++j) {
        sums[o][j] = bias[(j == 0 ? first : others) * channels + channel() + o] +
                     (more ? more[channel() + o] : 0.0f);
      }
    }
#pragma unroll 1
    for (int p = 0; p < kernel; ++p) {
      const int y = 2 * row() + p - kernel / 2;
      if (y < 0 || y >= s_.height) continue;
#pragma unroll 1
      for (int i = 0; i < inputs; ++i) {
#pragma unroll 1
        for (int q = 0; q < kernel; ++q) {
          const int x = (right() ? 2 * kRow : 0) + q - kernel / 2;
          const float* const pixels = image + (y * width + x) * inputs + i;
          const float* const w = weights + ((p * kernel + q) * inputs + i) * channels + channel();
          const Four four = load_four(w + others * taps), corner = load_four(w + first * taps);
#pragma unroll
          for (int j = 0; j < kRow; ++j) {
            const bool inside = x + 2 * j >= 0 && x + 2 * j < width;
            const float pixel = inside ? pixels[2 * j * inputs] : 0.0f;
#pragma unroll
            for (int o = 0; o < 4; ++o) {
              sums[o][j] = fmaf(j == 0 ? corner.of[o] : four.of[o], pixel, sums[o][j]);
            }
          }
        }
      }
    }
  }

  // Writes the sums' swish to the half map.
  __device__ void store_half(const Sums& sums, int first_slope) {
    each_half(half(), [&](int o, int j, float& out) {
      const Swish swish(sums[o][j]);
      out = swish.value;
      if (slopes_) kept(first_slope + o * kRow + j) = swish.slope;
    });
  }
  // Writes the sums times the derivatives.
  __device__ void store_gradient(const Sums& sums, int first_slope, float* map) {
    each_half(map, [&](int o, int j, float& out) {
      out = sums[o][j] * kept(first_slope + o * kRow + j);
    });
  }
  // Calls f(o, j, number) for the thread's positions of a half map.
  template <class F>
  __device__ void each_half(float* map, F f) {
    const int first = right() ? kRow : 0;
    float* const out = map + channel() * kHalfMap + (row() + 1) * kHalfRow + first + 1;
#pragma unroll
    for (int o = 0; o < 4; ++o) {
#pragma unroll
      for (int j = 0; j < kRow; ++j) {
        if (first + j < width()) f(o, j, out[o * kHalfMap + j]);
      }
    }
  }
  // Writes the swish of convolution n's output and, if it is the second of a block, of the map's
  // number.
  __device__ void store_quarter(const float (&total)[kRow], float* map, int n) {
    if (!any_small()) return;
#pragma unroll
    for (int j = 0; j < kRow; ++j) {
      if (j >= small_width()) continue;
      float& out = map[own_place(j)];
      const float sum = total[j] + bias(n)[own()];
      const Swish swish(n % 2 == 0 ? sum + out : sum);
      out = swish.value;
      if (slopes_) slope(n, j) = swish.slope;
    }
  }

  // Writes block 1's shortcut to a().
  __device__ void strided_shortcut() {
    if (!any_small()) return;
    float sum[kRow];
#pragma unroll
    for (float& of : sum) of = w_.strided_bias[own()];
    const float* in = half() + (2 * small_row() + 1) * kHalfRow + 1;
    for (int k = 0; k < channels; ++k) {
      const float w = w_.strided[k * channels + own()];
#pragma unroll
      for (int j = 0; j < kRow; ++j) sum[j] = fmaf(w, in[k * kHalfMap + 2 * j], sum[j]);
    }
#pragma unroll
    for (int j = 0; j < kRow; ++j) {
      if (j < small_width()) a()[own_place(j)] = sum[j];
    }
  }

  // Adds the gradient in block 1's input, given those in its convolution's output (b()) and in its
  // shortcut's (a()).
  __device__ void transposed(Sums& sums) {
    for_stages([&](const float* weights, int first) {
      if (!any()) return;
#pragma unroll 1
      for (int k = 0; k < kStageChannels; ++k) {
        for (int dy = 0; dy < 3; ++dy) {
          if ((row() + 1 - dy) % 2 != 0) continue;
          const float* from =
              b() + (first + k) * kQuarterMap + ((row() + 1 - dy) / 2 + 1) * kQuarterRow;
          const float* w = weights + (k * 9 + (2 - dy) * 3) * channels + channel();
          if (right()) {
            add_transposed_row<channels, 1>(from, w, sums);
          } else {
            add_transposed_row<channels, 0>(from, w, sums);
          }
        }
      }
    });
    if (!any() || row() % 2 != 0) return;
    if (right()) {
      add_shortcut_gradient<1>(sums);
    } else {
      add_shortcut_gradient<0>(sums);
    }
  }
  // Adds the gradient that comes from the outputs of block 1's shortcut to a tile of an even row.
  template <int tile>
  __device__ void add_shortcut_gradient(Sums& sums) {
    const float* from = a() + (row() / 2 + 1) * kQuarterRow + 1;
    for (int k = 0; k < channels; ++k, from += kQuarterMap) {
      const Four four = load_four(w_.strided_back + k * channels + channel());
#pragma unroll
      for (int j = tile; j < kRow; j += 2) {  // the even columns
        const float g = from[(kRow * tile + j) / 2];
#pragma unroll
        for (int o = 0; o < 4; ++o) sums[o][j] = fmaf(four.of[o], g, sums[o][j]);
      }
    }
  }

  // Writes the gradient in the image, given those in the outputs of the composed convolution and
  // of its shortcut (half()).
  __device__ void image_gradient(const float* at_front, float* at_image) {
    const int inputs = static_cast<int>(s_.inputs), quads = height() * width();
    for (int n = static_cast<int>(threadIdx.x); n < 4 * quads * inputs; n += kThreads) {
      // Pixels whose coordinates have the same remainders modulo 2 have the same taps.
      const int i = n / (4 * quads), kind = n / quads % 4, quad = n % quads;
      const int y = quad / width() * 2 + kind / 2, x = quad % width() * 2 + kind % 2;
      float sum[4] = {};
      add_front_gradient<5>(at_front, w_.front, y, x, i, sum);
      add_front_gradient<3>(half(), w_.front_shortcut, y, x, i, sum);
      at_image[(y * s_.width + x) * inputs + i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
  template <int kernel>
  __device__ void add_front_gradient(const float* at_output, const float* weights, int y, int x,
                                     int i, float (&sum)[4]) const {
    const int inputs = static_cast<int>(s_.inputs);
    for (int p = (y + kernel / 2) % 2; p < kernel; p += 2) {
      const int row = (y + kernel / 2 - p) / 2;
      if (y + kernel / 2 < p || row >= height()) continue;
      for (int q = (x + kernel / 2) % 2; q < kernel; q += 2) {
        const int column = (x + kernel / 2 - q) / 2;
        if (x + kernel / 2 < q || column >= width()) continue;
        const int k = kernel == 5 ? 2 * (row == 0) + (column == 0) : 0;
        const float* w = weights + (((k * kernel + p) * kernel + q) * inputs + i) * channels;
        const float* at = at_output + (row + 1) * kHalfRow + column + 1;
        for (int c = 0; c < channels; c += 4) {
          const Four four = load_four(w + c);
#pragma unroll
          for (int o = 0; o < 4; ++o) sum[o] = fmaf(four.of[o], at[(c + o) * kHalfMap], sum[o]);
        }
      }
    }
  }

  const ResNetShape& s_;
  const ResNetWeights& w_;
  float* const slopes_;
  int stage_;  // the next to be read
  Four held_[kFetches];
};

template <int channels>
__global__ void __launch_bounds__(Pass<channels>::kThreads, ResNetTiles::together(channels))
    resnet_pass_kernel(const ISINGLASS_GRID_CONSTANT ResNetShape shape,
                       const ISINGLASS_GRID_CONSTANT ResNetWeights weights, int64_t chains,
                       const float* image, float* scratch, double* net, float* at_image) {
  float* const slopes =
      at_image ? scratch + blockIdx.x * ResNetTiles::kSlopes * Pass<channels>::kThreads : nullptr;
  for (int64_t b = blockIdx.x; b < chains; b += gridDim.x) {
    Pass<channels> pass(shape, weights, slopes);
    const double value = pass.forward(image + b * shape.pixels());
    if (threadIdx.x == 0) net[b] = value;
    if (at_image) pass.backward(at_image + b * shape.pixels());
  }
}

// Returns the number of blocks. A block computes several chains if there are more than the device
// holds blocks.
unsigned blocks(const ResNetShape& shape, int64_t chains) {
  return static_cast<unsigned>(std::min(chains, resnet_pass_together(shape)));
}

template <int channels>
void launch(const ResNetShape& shape, int64_t chains, const float* weights, const float* image,
            float* scratch, double* net, float* at_image, Stream stream) {
  const LaunchShape launch{blocks(shape, chains),
                           static_cast<unsigned>(ResNetTiles::threads(channels)),
                           static_cast<size_t>(ResNetTiles::shared_bytes(channels))};
  ISINGLASS_LAUNCH(resnet_pass_kernel<channels>, launch, stream, shape,
                   ResNetWeights(shape, weights), chains, image, scratch, net, at_image);
}

}  // namespace

int64_t resnet_pass_together(const ResNetShape& shape) {
  const int device = current_device();
  if (!resnet_pass_serves(shape, shared_memory_limit(device))) return 0;
  return ResNetTiles::together(shape.channels) * multiprocessors(device);
}

int64_t resnet_pass_scratch(const ResNetShape& shape, int64_t chains) {
  return blocks(shape, chains) * ResNetTiles::threads(shape.channels) * ResNetTiles::kSlopes;
}

void resnet_pass(const ResNetShape& shape, int64_t chains, const float* weights, const float* image,
                 float* scratch, double* net, float* at_image, Stream stream) {
  switch (shape.channels) {
    case 16:
      return launch<16>(shape, chains, weights, image, scratch, net, at_image, stream);
    case 32:
      return launch<32>(shape, chains, weights, image, scratch, net, at_image, stream);
    default:
      return launch<64>(shape, chains, weights, image, scratch, net, at_image, stream);
  }
}

}  // namespace isinglass::cuda
