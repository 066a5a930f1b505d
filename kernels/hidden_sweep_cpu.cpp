// CPU twin of hidden_sweep.h. A panel of six chains adds rows of the weights to sums in registers,
// a tile of columns at a time, so that a weight is loaded once for six chains and rows of units
// that are on in none of them cost nothing. Threads work on a few panels each, which share a tile
// in a core's cache.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/hidden_sums_cpu.h"
#include "kernels/hidden_sweep.h"
#include "kernels/philox_lanes_cpu.h"

namespace isinglass::cpu {
namespace {

constexpr int kPanel = 6;       // chains of a panel: bits of a byte
constexpr int64_t kPanels = 5;  // most panels of a group
constexpr int kLanes = 16;

using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(4)));

// A 1 or a 0 for every chain of a panel.
struct Shares {
  float of[8];
};

// Of every byte.
const std::array<Shares, 256> kShares = [] {
  std::array<Shares, 256> all{};
  for (int byte = 0; byte < 256; ++byte) {
    for (int l = 0; l < 8; ++l) all[byte].of[l] = static_cast<float>(byte >> l & 1);
  }
  return all;
}();

// The units that are on in any chain of a panel, in ascending order.
class UnitsOn {
 public:
  void begin(int64_t units) {
    mark_.assign(static_cast<std::size_t>(units), 0);
    unit_.resize(std::max(unit_.size(), mark_.size()));
    on_.resize(unit_.size());
  }
  // Adds what is on (1) of the units from `first` on.
  void mark(int chain, int64_t first, const uint8_t* on, int64_t units) {
    uint8_t* own = mark_.data() + first;
    for (int64_t i = 0; i < units; ++i) own[i] |= static_cast<uint8_t>(on[i] << chain);
  }
  void list() {
    count_ = 0;
    for (std::size_t i = 0; i < mark_.size(); ++i) {
      unit_[count_] = static_cast<int32_t>(i);
      on_[count_] = kShares[mark_[i]];
      count_ += mark_[i] != 0;
    }
  }
  int64_t count() const { return count_; }
  const int32_t* unit() const { return unit_.data(); }
  const Shares* on() const { return on_.data(); }

 private:
  int64_t count_ = 0;
  std::vector<uint8_t> mark_;
  std::vector<int32_t> unit_;
  std::vector<Shares> on_;
};

// sum[l] = the biases and the rows of units on in chain l, for the columns of a tile. A product by
// 0 or 1 is exact, so that fused multiplications change nothing.
__attribute__((optimize("fp-contract=fast"))) ISINGLASS_VECTOR_CLONES void add_rows(
    const float* biases, const int32_t* unit, const Shares* on, int64_t count,
    float (*sum)[kTileColumns]) {
  constexpr int kVectors = kTileColumns / kLanes;
  const auto* row = reinterpret_cast<const Lanes*>(biases);
  Lanes total[kPanel][kVectors];
  for (int l = 0; l < kPanel; ++l) {
    for (int k = 0; k < kVectors; ++k) total[l][k] = row[k];
  }
  for (int64_t n = 0; n < count; ++n) {
    row = reinterpret_cast<const Lanes*>(biases) + (1 + unit[n]) * kVectors;
    for (int l = 0; l < kPanel; ++l) {
      for (int k = 0; k < kVectors; ++k) total[l][k] += row[k] * on[n].of[l];
    }
  }
  for (int l = 0; l < kPanel; ++l) {
    for (int k = 0; k < kVectors; ++k) reinterpret_cast<Lanes*>(sum[l])[k] = total[l][k];
  }
}

// out [chains, columns] of chains in panels
template <class Out>
void multiply(const std::vector<UnitsOn>& panels, int64_t chains, const TiledWeights& weights,
              Out* out) {
  float sum[kPanel][kTileColumns];
  for (int64_t t = 0; t < tile_count(weights.columns); ++t) {
    const int64_t first = t * kTileColumns;
    const int64_t size = std::min<int64_t>(kTileColumns, weights.columns - first);
    for (int64_t c = 0; c < chains; ++c) {
      const UnitsOn& on = panels[c / kPanel];
      if (c % kPanel == 0) add_rows(weights.biases(t), on.unit(), on.on(), on.count(), sum);
      std::copy_n(sum[c % kPanel], size, out + c * weights.columns + first);
    }
  }
}

// draw_unit() of 32 units by the first words of their numbers, which decide nearly always. Returns
// whether all inputs are finite.
ISINGLASS_VECTOR_CLONES
bool draw_units(const Draws& draws, Purpose purpose, Purpose rest, uint32_t first,
                const double* input, const uint32_t* word, uint8_t* on) {
  int64_t surely[kBlockSites], open = 0, broken = 0;
  for (int i = 0; i < kBlockSites; ++i) {
    const FlipWeights weights(-input[i]);
    surely[i] = weights.surely_up(word[i]);
    const int64_t never = weights.never_up(word[i]);
    open |= 1 - (surely[i] | never);
    broken |= input[i] - input[i] == 0 ? 0 : 1;
  }
  for (int i = 0; i < kBlockSites; ++i) on[i] = static_cast<uint8_t>(surely[i]);
  for (int i = 0; open && i < kBlockSites; ++i) {
    on[i] = draw_unit(draws, purpose, rest, first + i, input[i]);
  }
  return !broken;
}

// Calls take(first, on, size) for every block of 32 units as drawn.
template <class In, class Take>
bool draw_blocks(const Draws& draws, Purpose purpose, Purpose rest, const In* inputs, int64_t units,
                 Take take) {
  bool finite = true;
  uint32_t word[kWordTile];
  for (int64_t first = 0; first < units; first += kBlockSites) {
    const auto number = static_cast<uint32_t>(first);
    if (first % kWordTile == 0) site_words(draws, purpose, number, word);
    const int64_t size = std::min<int64_t>(kBlockSites, units - first);
    double input[kBlockSites] = {};
    uint8_t on[kBlockSites];
    std::copy_n(inputs + first, size, input);
    finite &= draw_units(draws, purpose, rest, number, input, word + first % kWordTile, on);
    take(first, on, size);
  }
  return finite;
}

// The chains first … first + count − 1.
class Group {
 public:
  Group(const SweepShape& shape, const SweepWeights& weights, const SweepChains& chains,
        int64_t first, int64_t count, std::vector<UnitsOn>& panels)
      : s_(shape), w_(weights), chains_(chains), first_(first), count_(count), panels_(panels) {}

  void sweep(int64_t number) {
    for (UnitsOn& on : panels_) on.begin(s_.hidden);
    for (int64_t l = 0; l < count_; ++l) finite_[l] = draw_hidden(number, l);
    for (UnitsOn& on : panels_) on.list();
    multiply(panels_, count_, {w_.to_visible, s_.hidden, s_.visible()}, visible_inputs(0));
    for (UnitsOn& on : panels_) on.begin(s_.visible());
    for (int64_t l = 0; l < count_; ++l) {
      const int64_t hops = s_.columns == 1 ? draw_sites(number, l) : draw_values(number, l);
      count_draw(chains_.counts, first_ + l, hops, finite_[l]);
    }
    for (UnitsOn& on : panels_) on.list();
    multiply(panels_, count_, {w_.to_hidden, s_.visible(), s_.hidden}, inputs(0));
  }

  void set_energies() {
    for (int64_t l = 0; l < count_; ++l) {
      const uint8_t* x = states(l);
      const auto bias = [&](int64_t i) { return value_bias(s_, w_.visible_biases, i, x[i]); };
      chains_.energy[first_ + l] =
          -visible_sum(s_.sites, bias) - hidden_sum(inputs(l), s_.hidden, nullptr);
    }
  }

 private:
  uint8_t* states(int64_t l) { return chains_.x + (first_ + l) * s_.sites; }
  double* inputs(int64_t l) { return chains_.inputs + (first_ + l) * s_.hidden; }
  float* visible_inputs(int64_t l) { return chains_.visible_inputs + (first_ + l) * s_.visible(); }

  void mark(int64_t l, int64_t first, const uint8_t* on, int64_t units) {
    panels_[l / kPanel].mark(static_cast<int>(l % kPanel), first, on, units);
  }

  bool draw_hidden(int64_t number, int64_t l) {
    return draw_blocks(
        sweep_draws(chains_, first_ + l, number), Purpose::kHidden, Purpose::kHiddenRest, inputs(l),
        s_.hidden,
        [&](int64_t first, const uint8_t* on, int64_t size) { mark(l, first, on, size); });
  }

  int64_t draw_sites(int64_t number, int64_t l) {
    uint8_t* x = states(l);
    int64_t hops = 0;
    finite_[l] &= draw_blocks(sweep_draws(chains_, first_ + l, number), Purpose::kSiteValue,
                              Purpose::kSiteValueRest, visible_inputs(l), s_.sites,
                              [&](int64_t first, const uint8_t* on, int64_t size) {
                                for (int64_t i = 0; i < size; ++i) hops += x[first + i] != on[i];
                                std::copy_n(on, size, x + first);
                                mark(l, first, on, size);
                              });
    return hops;
  }

  int64_t draw_values(int64_t number, int64_t l) {
    const Draws draws = sweep_draws(chains_, first_ + l, number);
    uint8_t* x = states(l);
    const uint8_t one = 1;
    int64_t hops = 0;
    for (int64_t i = 0; i < s_.sites; ++i) {
      bool finite;
      const int to = draw_value(s_, draws, i, x[i], visible_inputs(l), &finite);
      finite_[l] &= finite;
      hops += to != x[i];
      x[i] = static_cast<uint8_t>(to);
      mark(l, s_.column(i, to), &one, 1);
    }
    return hops;
  }

  const SweepShape& s_;
  const SweepWeights& w_;
  const SweepChains& chains_;
  int64_t first_, count_;
  std::vector<UnitsOn>& panels_;
  bool finite_[kPanels * kPanel] = {};
};

}  // namespace

void sweep_hidden(const SweepShape& s, const SweepWeights& w, int64_t steps,
                  const SweepChains& chains, Stream) {
  const int64_t panels = (s.chains + kPanel - 1) / kPanel;
  const int64_t groups = (panels + kPanels - 1) / kPanels;
#pragma omp parallel for schedule(static) if (worth_threads(s.chains * (s.visible() + s.hidden)))
  for (int64_t g = 0; g < groups; ++g) {
    thread_local std::vector<UnitsOn> own;
    const int64_t first = panels * g / groups, end = panels * (g + 1) / groups;
    own.resize(static_cast<std::size_t>(end - first));
    Group group(s, w, chains, first * kPanel, std::min(end * kPanel, s.chains) - first * kPanel,
                own);
    for (int64_t t = 0; t < steps; ++t) group.sweep(t);
    group.set_energies();
  }
}

}  // namespace isinglass::cpu
