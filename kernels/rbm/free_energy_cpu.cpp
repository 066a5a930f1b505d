// Implements free_energy.h on the CPU, with chains shared among threads, and the sums over hidden
// units of unit_sums_cpu.h.
#include <algorithm>
#include <cstring>

#include "kernels/base/threads_cpu.h"
#include "kernels/base/vectors_cpu.h"
#include "kernels/rbm/flipped_rows_cpu.h"
#include "kernels/rbm/free_energy.h"
#include "kernels/rbm/unit_sums_cpu.h"

namespace isinglass::cpu {
namespace {

// Returns true if at most as many units differ between x and y as are on in y. The update then
// starts from the inputs at x.
ISINGLASS_VECTOR_CLONES
bool moves_from(const uint8_t* x, const uint8_t* y, int64_t count) {
  int32_t balance = 0;
  for (int64_t i = 0; i < count; ++i) balance += (x[i] ^ y[i]) - y[i];
  return balance <= 0;
}

// Returns a bit for each of the first `count` ≤ 8 units that changed, or that are on if x is null.
uint64_t moved_byte(const uint8_t* x, const uint8_t* y, int64_t count) {
  uint64_t there = 0, here = 0;
  std::memcpy(&here, y, count);
  if (x) std::memcpy(&there, x, count);
  return (here ^ there) * 0x0102040810204080 >> 56;
}

// Returns a bit for each of the first min(count, 64) units that changed, or that are on if x is
// null.
uint64_t moved_word(const uint8_t* x, const uint8_t* y, int64_t count) {
  uint64_t moved = 0;
  if (count >= kWordSites) {
    for (int at = 0; at < kWordSites; at += 8) {
      moved |= moved_byte(x ? x + at : nullptr, y + at, 8) << at;
    }
    return moved;
  }
  for (int64_t at = 0; at < count; at += 8) {
    moved |= moved_byte(x ? x + at : nullptr, y + at, std::min<int64_t>(8, count - at)) << at;
  }
  return moved;
}

// Adds Σ_i (y_i − x_i) W_hi to a; a null x stands for zeros.
void add_moved(const HiddenShape& s, HiddenWeights w, const uint8_t* x, const uint8_t* y,
               double* a) {
  FlippedUnits moved;
  for (int64_t begin = 0; begin < s.visible; begin += FlippedUnits::kUnits) {
    const int64_t end = std::min(begin + FlippedUnits::kUnits, s.visible);
    moved.count = 0;
    for (int64_t first = begin; first < end; first += kWordSites) {
      uint64_t left = moved_word(x ? x + first : nullptr, y + first, end - first);
      for (; left != 0; left &= left - 1) {
        const int64_t i = first + __builtin_ctzll(left);
        moved.row[moved.count] = w.by_visible + i * s.hidden;
        fetch_ahead(moved.row[moved.count]);
        moved.sign[moved.count++] = 2 * y[i] - 1;
      }
    }
    add_rows(moved, s.hidden, a);
  }
}

// Computes the inputs of one chain; if x is null, from the biases.
void inputs_of(const HiddenShape& s, HiddenWeights w, const uint8_t* x, const double* at_x,
               const uint8_t* y, double* a) {
  const bool moves = x && moves_from(x, y, s.visible);
  if (moves) {
    std::copy_n(at_x, s.hidden, a);
  } else {
    std::copy_n(w.hidden_biases, s.hidden, a);
  }
  add_moved(s, w, moves ? x : nullptr, y, a);
}

// Returns Σ_i b_i y_i.
ISINGLASS_VECTOR_CLONES
double bias_sum(const float* biases, const uint8_t* y, int64_t count) {
  return visible_sum(count, [=](int64_t i) { return y[i] * static_cast<double>(biases[i]); });
}

// Computes Σ softplus(βa) = β·Σ max(a, 0) + log Π (1 + e^−β|a|) at several β, block by block. The
// logarithms of many blocks are computed together, because a single one would wait for each of its
// own operations.
template <int betas>
[[gnu::always_inline]] inline void sums_at(const double* a, int64_t count, float* on,
                                           const double* beta, double* sum) {
  constexpr int kTogether = 16;
  double positive[kBlockSites], least[kBlockSites], factor[kBlockSites];
  double linear[kTogether], factors[betas][kTogether];
  float sigmoid[kBlockSites];
  std::fill_n(sum, betas, 0.0);
  for (int64_t first = 0; first < count;) {
    for (int b = 0; b < kTogether; ++b, first += kBlockSites) {
      linear[b] = 0;
      for (int k = 0; k < betas; ++k) factors[k][b] = 1;
      if (first >= count) continue;
      const int64_t size = std::min<int64_t>(kBlockSites, count - first);
      const Padded<double, kBlockSites> input(a + first, size);
      for (int i = 0; i < kBlockSites; ++i) positive[i] = HiddenUnit(input.whole[i]).positive;
      linear[b] = tree_sum(positive);
      for (int k = 0; k < betas; ++k) {
        for (int i = 0; i < kBlockSites; ++i) {
          least[i] = HiddenUnit(beta[k] * input.whole[i]).least;
        }
        std::fill(least + size, least + kBlockSites, 0.0);
        for (int i = 0; i < kBlockSites; ++i) factor[i] = 1 + least[i];
        factors[k][b] = tree_product(factor);
      }
      if (!on) continue;
      const bool whole = size == kBlockSites;
      float* to = whole ? on + first : sigmoid;
      for (int i = 0; i < kBlockSites; ++i) to[i] = HiddenUnit::sigmoid(positive[i], least[i]);
      if (!whole) std::copy_n(sigmoid, size, on + first);
    }
    for (int k = 0; k < betas; ++k) {
      for (int b = 0; b < kTogether; ++b) factors[k][b] = elementary::log(factors[k][b]);
      for (int b = 0; b < kTogether; ++b) sum[k] += beta[k] * linear[b] + factors[k][b];
    }
  }
}

}  // namespace

ISINGLASS_VECTOR_CLONES
double hidden_sum(const double* a, int64_t count, float* on, double beta) {
  double sum;
  sums_at<1>(a, count, on, &beta, &sum);
  return sum;
}

ISINGLASS_VECTOR_CLONES
void hidden_sums(const double* a, int64_t count, const double* beta, double* sum) {
  sums_at<2>(a, count, nullptr, beta, sum);
}

void move_hidden(const HiddenShape& s, HiddenWeights w, HiddenStart start, const uint8_t* y,
                 HiddenUnits out, Stream) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, s.chains * s.hidden);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < s.chains; ++c) {
    const uint8_t* own = y + c * s.visible;
    double* a = out.inputs + c * s.hidden;
    const int64_t at_visible = c * s.visible, at_hidden = c * s.hidden;
    inputs_of(s, w, start.x ? start.x + at_visible : nullptr,
              start.x ? start.inputs + at_hidden : nullptr, own, a);
    out.energy[c] = -bias_sum(w.visible_biases, own, s.visible) -
                    hidden_sum(a, s.hidden, out.on ? out.on + at_hidden : nullptr);
  }
}

}  // namespace isinglass::cpu
