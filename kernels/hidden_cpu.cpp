// CPU twin of hidden.h: a thread works on one chain after the other.
#include <algorithm>

#include "kernels/hidden.h"
#include "kernels/hidden_sums_cpu.h"

namespace isinglass::cpu {
namespace {

ISINGLASS_VECTOR_CLONES
void add_row(double sign, const float* row, int64_t count, double* sum) {
  for (int64_t h = 0; h < count; ++h) sum[h] += sign * row[h];
}

// Σ softplus(a) of a block, and σ(a) where it is wanted.
ISINGLASS_VECTOR_CLONES
double units(const double* input, double* on) {
  double positive[kBlockSites], least[kBlockSites], factor[kBlockSites];
  for (int i = 0; i < kBlockSites; ++i) {
    const HiddenUnit unit(input[i]);
    positive[i] = unit.positive;
    least[i] = unit.least;
    factor[i] = 1 + unit.least;
  }
  for (int i = 0; on && i < kBlockSites; ++i) on[i] = HiddenUnit::share(positive[i], least[i]);
  for (int n = kBlockSites / 2; n > 0; n /= 2) {  // in the order of a warp's butterfly
    for (int i = 0; i < n; ++i) {
      positive[i] += positive[i + n];
      factor[i] *= factor[i + n];
    }
  }
  return positive[0] + elementary::log(factor[0]);
}

int64_t count_moved(const uint8_t* x, const uint8_t* y, int64_t count) {
  int64_t moved = 0;
  for (int64_t i = 0; i < count; ++i) moved += x[i] != y[i];
  return moved;
}

// The inputs of one chain. x null: from the biases.
void inputs_of(const HiddenShape& s, HiddenWeights w, const uint8_t* x, const double* at_x,
               const uint8_t* y, double* a) {
  const int64_t on = std::count(y, y + s.visible, uint8_t{1});
  if (x && count_moved(x, y, s.visible) <= on) {
    std::copy_n(at_x, s.hidden, a);
    for (int64_t i = 0; i < s.visible; ++i) {
      if (x[i] != y[i]) add_row(y[i] ? 1 : -1, w.by_visible + i * s.hidden, s.hidden, a);
    }
    return;
  }
  std::copy_n(w.hidden_biases, s.hidden, a);
  for (int64_t i = 0; i < s.visible; ++i) {
    if (y[i]) add_row(1, w.by_visible + i * s.hidden, s.hidden, a);
  }
}

}  // namespace

double hidden_sum(const double* a, int64_t count, float* on) {
  double total = 0;
  for (int64_t first = 0; first < count; first += kBlockSites) {
    const int64_t size = std::min<int64_t>(kBlockSites, count - first);
    double input[kBlockSites], sigmoid[kBlockSites];
    std::fill_n(input, kBlockSites, -INFINITY);
    std::copy_n(a + first, size, input);
    total += units(input, on ? sigmoid : nullptr);
    if (on) std::copy_n(sigmoid, size, on + first);
  }
  return total;
}

void move_hidden(const HiddenShape& s, HiddenWeights w, HiddenStart start, const uint8_t* y,
                 HiddenUnits out, Stream) {
#pragma omp parallel for schedule(static) if (worth_threads(s.chains * s.hidden))
  for (int64_t c = 0; c < s.chains; ++c) {
    const uint8_t* own = y + c * s.visible;
    double* a = out.inputs + c * s.hidden;
    const int64_t at_visible = c * s.visible, at_hidden = c * s.hidden;
    inputs_of(s, w, start.x ? start.x + at_visible : nullptr,
              start.x ? start.inputs + at_hidden : nullptr, own, a);
    const auto bias = [&](int64_t i) { return own[i] * static_cast<double>(w.visible_biases[i]); };
    out.energy[c] = -visible_sum(s.visible, bias) -
                    hidden_sum(a, s.hidden, out.on ? out.on + at_hidden : nullptr);
  }
}

}  // namespace isinglass::cpu
