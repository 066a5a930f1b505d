// CPU twin of rbm_gibbs.h. The sixteen sums that the rows of four units can have are found once
// for all chains and looked up by each (the method of Arlazarov, Dinic, Kronrod and Faradzhev
// 1970): an addition for four rows. Tables of as many fours as fit into a core's first cache serve
// panels of chains, whose sums stay in registers. Threads share chains to draw, and tiles to
// multiply.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/base/vectors_cpu.h"
#include "kernels/random/fast/philox_cpu.h"
#include "kernels/rbm/rbm_gibbs.h"
#include "kernels/rbm/unit_sums_cpu.h"

namespace isinglass::cpu {
namespace {

constexpr int kSums = 1 << kRowGroup;  // of the rows of four units
constexpr int64_t kTables = 16;        // fours whose sums are in the first cache together
constexpr int kPanel = 10;             // chains whose sums are in registers
constexpr int64_t kPartChains = 256;   // that share a table, at most

// Which of every four units are on in each chain, as a place in a table of sums.
class ActiveUnits {
 public:
  void resize(int64_t chains, int64_t units) {
    groups_ = row_groups(units);
    place_.resize(static_cast<std::size_t>((chains + kPanel) * groups_));  // a panel may reach over
  }
  // Sets 32 units from `first`, a multiple of 32, to `on`; those behind the last one are off.
  void set(int64_t chain, int64_t first, const uint8_t* on) {
    uint16_t* own = places(chain) + first / kRowGroup;
    const int64_t count = std::min<int64_t>(kBlockSites / kRowGroup, groups_ - first / kRowGroup);
    for (int64_t n = 0; n < count; ++n) {
      uint32_t four;  // bytes of 0 or 1, which the product puts side by side
      std::memcpy(&four, on + n * kRowGroup, sizeof four);
      own[n] = static_cast<uint16_t>((four * 0x01020408 >> 24) % kSums * kTileColumns);
    }
  }
  void clear(int64_t chain) { std::fill_n(places(chain), groups_, uint16_t{0}); }
  void add(int64_t chain, int64_t unit) {
    places(chain)[unit / kRowGroup] += static_cast<uint16_t>(kTileColumns << unit % kRowGroup);
  }
  int64_t groups() const { return groups_; }
  const uint16_t* places(int64_t chain) const { return place_.data() + chain * groups_; }

 private:
  uint16_t* places(int64_t chain) { return place_.data() + chain * groups_; }

  int64_t groups_ = 0;
  std::vector<uint16_t> place_;  // [chains, groups]
};

// The sums of every four rows, [16, 16]; bit i of a number says whether row i is in.
template <int kBytes>
[[gnu::always_inline]] inline void sum_groups_of(const float* row, int64_t groups, float* table) {
  using Columns = Vector<float, kBytes>;
  constexpr int kWidth = kBytes / sizeof(float);
  for (int64_t n = 0; n < groups;
       ++n, table += kSums * kTileColumns, row += kRowGroup * kTileColumns) {
    for (int first = 0; first < kTileColumns; first += kWidth) {
      Columns sum[kSums] = {};
      for (int top = 0; top < kRowGroup; ++top) {
        const Columns added = *reinterpret_cast<const Columns*>(row + top * kTileColumns + first);
        for (int m = 0; m < 1 << top; ++m) sum[1 << top | m] = sum[m] + added;
      }
      for (int m = 0; m < kSums; ++m) {
        *reinterpret_cast<Columns*>(table + m * kTileColumns + first) = sum[m];
      }
    }
  }
}
ISINGLASS_BY_WIDTH(void, sum_groups, (const float* row, int64_t groups, float* table),
                   (row, groups, table))

// total [10, 16] += what `groups` tables have at the chains' places, which lie `stride` apart.
// Copies as calls of memcpy would keep the sums out of registers.
template <int kBytes>
[[gnu::always_inline]] inline void add_groups_of(const float* tables, const uint16_t* place,
                                                 int64_t stride, int64_t groups, float* total) {
  using Columns = Vector<float, kBytes>;
  constexpr int kWidth = kBytes / sizeof(float);
  for (int first = 0; first < kTileColumns; first += kWidth) {
    const float* table = tables + first;
    Columns sum[kPanel];
    for (int l = 0; l < kPanel; ++l) {
      sum[l] = *reinterpret_cast<const Columns*>(total + l * kTileColumns + first);
    }
    for (int64_t n = 0; n < groups; ++n, table += kSums * kTileColumns) {
      for (int l = 0; l < kPanel; ++l) {
        sum[l] += *reinterpret_cast<const Columns*>(table + place[l * stride + n]);
      }
    }
    for (int l = 0; l < kPanel; ++l) {
      *reinterpret_cast<Columns*>(total + l * kTileColumns + first) = sum[l];
    }
  }
}
ISINGLASS_BY_WIDTH(void, add_groups,
                   (const float* table, const uint16_t* place, int64_t stride, int64_t groups,
                    float* total),
                   (table, place, stride, groups, total))

// The columns of tile t of out [chains, columns], for the chains first … end − 1.
template <class Out>
void multiply(const ActiveUnits& on, int64_t first, int64_t end, const TiledMatrix& weights,
              int64_t t, Out* out) {
  alignas(64) float table[kTables * kSums * kTileColumns];
  alignas(64) float total[(kPartChains + kPanel) * kTileColumns];
  const float* biases = weights.biases(t);
  const int64_t rows = (end - first + kPanel - 1) / kPanel * kPanel;
  for (int64_t l = 0; l < rows; ++l) std::copy_n(biases, kTileColumns, total + l * kTileColumns);
  for (int64_t begin = 0; begin < on.groups(); begin += kTables) {
    const int64_t count = std::min(kTables, on.groups() - begin);
    sum_groups(biases + (1 + begin * kRowGroup) * kTileColumns, count, table);
    for (int64_t l = 0; l < rows; l += kPanel) {
      add_groups(table, on.places(first + l) + begin, on.groups(), count, total + l * kTileColumns);
    }
  }
  const int64_t column = t * kTileColumns;
  const int64_t size = std::min<int64_t>(kTileColumns, weights.columns - column);
  for (int64_t c = first; c < end; ++c) {
    std::copy_n(total + (c - first) * kTileColumns, size, out + c * weights.columns + column);
  }
}

// d = −input of a block's units, of input(i); behind the last one 0. Returns whether all are finite.
template <class Input>
[[gnu::always_inline]] inline bool differences(int64_t size, Input input, double* d) {
  int64_t broken = 0;
  for (int64_t i = 0; i < size; ++i) d[i] = -input(i);
  for (int64_t i = size; i < kBlockSites; ++i) d[i] = 0;
  for (int i = 0; i < kBlockSites; ++i) broken |= d[i] - d[i] == 0 ? 0 : 1;
  return !broken;
}
ISINGLASS_VECTOR_CLONES
bool hidden_differences(const PathPoint& point, const double* input, int64_t size, double* d) {
  const PathPoint at = point;
  return differences(size, [=](int64_t i) { return at.hidden(input[i]); }, d);
}
ISINGLASS_VECTOR_CLONES
bool visible_differences(const PathPoint& point, const float* input, int64_t first, int64_t size,
                         double* d) {
  const PathPoint at = point;
  return differences(size, [=](int64_t i) { return at.visible(input[i], first + i); }, d);
}

// draw_unit() of 32 units of which the differences are known.
ISINGLASS_VECTOR_CLONES
bool draw_by_first_words(const double* d, const uint32_t* word, uint8_t* on) {
  return draw_by_words<kBlockSites>(d, word, on);
}
void draw_units(const Draws& draws, Purpose purpose, Purpose rest, uint32_t first, const double* d,
                const uint32_t* word, uint8_t* on) {
  if (!draw_by_first_words(d, word, on)) return;
  for (int i = 0; i < kBlockSites; ++i) on[i] = draw_unit(draws, purpose, rest, first + i, -d[i]);
}

// Calls take(first, on, size) for every block of 32 units as drawn, of differences that
// fill(first, size, d) finds. Returns whether all are finite.
template <class Fill, class Take>
bool draw_unit_blocks(const Draws& draws, Purpose purpose, Purpose rest, int64_t units, Fill fill,
                      Take take) {
  bool finite = true;
  uint32_t word[kWordTile];
  double d[kBlockSites];
  uint8_t on[kBlockSites];
  for (int64_t first = 0; first < units; first += kBlockSites) {
    const auto number = static_cast<uint32_t>(first);
    if (first % kWordTile == 0) site_words(draws, purpose, number, word);
    const int64_t size = std::min<int64_t>(kBlockSites, units - first);
    finite &= fill(first, size, d);
    draw_units(draws, purpose, rest, number, d, word + first % kWordTile, on);
    std::fill(on + size, on + kBlockSites, uint8_t{0});
    take(first, on, size);
  }
  return finite;
}

// Σ_i of the biases of the sites' values.
ISINGLASS_VECTOR_CLONES
double bias_sum(const SweepShape& shape, const PathPoint& point, const float* biases,
                const uint8_t* x) {
  const SweepShape s = shape;
  const PathPoint at = point;
  return visible_sum(s.sites, [=](int64_t i) { return value_bias(s, at, biases, i, x[i]); });
}

double free_energy(const SweepShape& s, const float* visible_biases, const PathPoint& point,
                   const uint8_t* x, const double* inputs) {
  return -bias_sum(s, point, visible_biases, x) - hidden_sum(inputs, s.hidden, nullptr, point.beta);
}

// What the threads of a call share.
struct Shared {
  ActiveUnits hidden, visible;
  std::vector<uint8_t> finite;  // of every chain

  void resize(const SweepShape& s) {
    hidden.resize(s.chains, s.hidden);
    visible.resize(s.chains, s.visible());
    finite.resize(static_cast<std::size_t>(s.chains));
  }
};

// The parts of a sweep, each shared by the threads of a parallel region, which wait at its end.
class Sweeps {
 public:
  Sweeps(const SweepShape& shape, const SweepWeights& weights, const SweepChains& chains,
         Shared& shared)
      : s_(shape), w_(weights), chains_(chains), shared_(shared) {}

  void sweep(int64_t number) {
#pragma omp for schedule(static)
    for (int64_t c = 0; c < s_.chains; ++c) shared_.finite[c] = draw_hidden(number, c);
    multiply_all(shared_.hidden, {w_.to_visible, s_.hidden, s_.visible()}, chains_.visible_inputs);
#pragma omp for schedule(static)
    for (int64_t c = 0; c < s_.chains; ++c) {
      bool finite = shared_.finite[c] != 0;
      const int64_t hops =
          s_.columns == 1 ? draw_sites(number, c, finite) : draw_values(number, c, finite);
      count_draw(chains_.counts, c, hops, finite);
    }
    multiply_all(shared_.visible, {w_.to_hidden, s_.visible(), s_.hidden}, chains_.inputs);
  }

  void set_energies() {
#pragma omp for schedule(static)
    for (int64_t c = 0; c < s_.chains; ++c) {
      chains_.energy[c] =
          free_energy(s_, w_.visible_biases, PathPoint(chains_.path, c), states(c), inputs(c));
    }
  }

 private:
  uint8_t* states(int64_t c) { return chains_.x + c * s_.sites; }
  double* inputs(int64_t c) { return chains_.inputs + c * s_.hidden; }
  float* visible_inputs(int64_t c) { return chains_.visible_inputs + c * s_.visible(); }

  // out [chains, columns]
  template <class Out>
  void multiply_all(const ActiveUnits& on, const TiledMatrix& weights, Out* out) {
    const int64_t tiles = tile_count(weights.columns);
    const int64_t parts = (s_.chains + kPartChains - 1) / kPartChains;
#pragma omp for schedule(static)
    for (int64_t n = 0; n < tiles * parts; ++n) {
      const int64_t part = n / tiles;
      multiply(on, s_.chains * part / parts, s_.chains * (part + 1) / parts, weights, n % tiles,
               out);
    }
  }

  bool draw_hidden(int64_t number, int64_t c) {
    const auto take = [&](int64_t first, const uint8_t* on, int64_t) {
      shared_.hidden.set(c, first, on);
    };
    const PathPoint point(chains_.path, c);
    const auto fill = [&, input = inputs(c)](int64_t first, int64_t size, double* d) {
      return hidden_differences(point, input + first, size, d);
    };
    return draw_unit_blocks(sweep_draws(chains_, c, number), Purpose::kHidden, Purpose::kHiddenRest,
                            s_.hidden, fill, take);
  }

  int64_t draw_sites(int64_t number, int64_t c, bool& finite) {
    uint8_t* x = states(c);
    int64_t hops = 0;
    const auto take = [&](int64_t first, const uint8_t* on, int64_t size) {
      for (int64_t i = 0; i < size; ++i) hops += x[first + i] != on[i];
      std::copy_n(on, size, x + first);
      shared_.visible.set(c, first, on);
    };
    const PathPoint point(chains_.path, c);
    const auto fill = [&, input = visible_inputs(c)](int64_t first, int64_t size, double* d) {
      return visible_differences(point, input + first, first, size, d);
    };
    finite &= draw_unit_blocks(sweep_draws(chains_, c, number), Purpose::kSiteValue,
                               Purpose::kSiteValueRest, s_.sites, fill, take);
    return hops;
  }

  int64_t draw_values(int64_t number, int64_t c, bool& finite) {
    const Draws draws = sweep_draws(chains_, c, number);
    const PathPoint point(chains_.path, c);
    uint8_t* x = states(c);
    int64_t hops = 0;
    shared_.visible.clear(c);
    for (int64_t i = 0; i < s_.sites; ++i) {
      bool drawn;
      const int to = draw_value(s_, draws, point, i, x[i], visible_inputs(c), &drawn);
      finite &= drawn;
      hops += to != x[i];
      x[i] = static_cast<uint8_t>(to);
      shared_.visible.add(c, s_.column(i, to));
    }
    return hops;
  }

  const SweepShape& s_;
  const SweepWeights& w_;
  const SweepChains& chains_;
  Shared& shared_;
};

}  // namespace

void sweep_hidden(const SweepShape& s, const SweepWeights& w, int64_t steps,
                  const SweepChains& chains, Stream) {
  thread_local Shared kept;  // its memory, from call to call
  Shared& shared = kept;     // the caller's, for all threads
  shared.resize(s);
#pragma omp parallel if (parallel_pays((s.chains + s.visible()) * (s.visible() + s.hidden)))
  {
    Sweeps sweeps(s, w, chains, shared);
    for (int64_t t = 0; t < steps; ++t) sweeps.sweep(t);
    sweeps.set_energies();
  }
}

void free_energies(const SweepShape& s, const float* visible_biases, const SweepPath& path,
                   const PathStates& states, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(s.chains * (s.visible() + s.hidden)))
  for (int64_t c = 0; c < s.chains; ++c) {
    states.energy[c] = free_energy(s, visible_biases, PathPoint(path, c), states.x + c * s.sites,
                                   states.inputs + c * s.hidden);
  }
}

}  // namespace isinglass::cpu
