// Performs Gibbs sweeps of an RBM (CUDA version of rbm_gibbs.h).
//
// Regime: two launches per sweep, to the visible units and back, and one before the first sweep,
// which draws the hidden units. A block of 128 threads multiplies 16 chains by 32 columns and draws
// the units whose inputs these are. Eight lanes share a chain, and each handles the four units of
// one Philox call (SiteCall). Rows of weights pass through shared memory, 64 at a time and in two
// stages (16 KiB), while the next rows are being loaded into registers. Every lane adds the rows of
// the units that are on in its chain, in the order of the CPU. The states of the units pass between
// launches as bits in global memory, 32 units per word, so that any number of units fits any GPU.
// Sites of K values are drawn by an additional launch with a block of 256 threads per chain. Free
// energies take a block of 256 threads per chain and a tile of block sums (4 KiB of shared memory).
// It serves all Gibbs sweeps of RBMs on a GPU; rbm_gibbs_cpu.cpp serves the CPU. Samplers with
// proposals take free_energy.cu.
#include "kernels/base/blocks.h"
#include "kernels/base/four_cuda.h"
#include "kernels/base/launch.h"
#include "kernels/rbm/rbm_gibbs.h"
#include "kernels/rbm/unit_sums_cuda.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kProductThreads = 128;
constexpr int kProductChains = kProductThreads / kBlockCalls;
constexpr int64_t kStageRows = 64;
constexpr int kStageWords = kStageRows / kBlockSites;
// A thread loads this many rows of its lane's columns for a stage.
constexpr int kFetches = kStageRows / kProductChains;

// Divides the words of global memory that the launches of a call share.
struct Shared {
  uint32_t* hidden;   // [B, H/32]. Its bits say which hidden units are on.
  uint32_t* visible;  // [B, D·C/32]. Its bits say which visible units are on.
  int* hops;          // [2, B]. Counts the sites changed in a sweep and in the next one.
  int* non_finite;    // [2, B]. It is 1 if an input was not finite.

  __device__ Shared(const SweepShape& s, uint32_t* words)
      : hidden(words),
        visible(hidden + s.chains * site_blocks(s.hidden)),
        hops(reinterpret_cast<int*>(visible + s.chains * site_blocks(s.visible()))),
        non_finite(hops + 2 * s.chains) {}
  static int64_t words(const SweepShape& s) {
    return s.chains * (site_blocks(s.hidden) + site_blocks(s.visible()) + 4);
  }
  __device__ static int64_t of_sweep(const SweepShape& s, int64_t sweep, int64_t chain) {
    return sweep % 2 * s.chains + chain;
  }
};

// Both functions combine the values of the eight lanes of a chain. All lanes of the warp must call
// them.
__device__ unsigned bits_of_lanes(unsigned bits) {
  for (int offset = kBlockCalls / 2; offset > 0; offset /= 2) {
    bits |= __shfl_xor_sync(0xffffffffu, bits, offset);
  }
  return bits;
}
__device__ int sum_of_lanes(int value) {
  for (int offset = kBlockCalls / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

// Identifies the four units of a lane, which belong to one chain.
struct LaneUnits {
  int64_t chain;
  bool any;  // It is true if the chain exists.
  SiteCall call;
  int64_t count;  // It is the number of all units.

  __device__ bool has(int k) const { return any && call.site(k) < count; }
  __device__ bool first_lane() const { return any && call.number % kBlockCalls == 0; }
  __device__ int64_t word() const { return chain * site_blocks(count) + call.number / kBlockCalls; }
};

// Draws a lane's units, given input(k) of unit k. Returns the ones that are on as bits of their
// word.
template <class Input>
__device__ unsigned draw_units(const LaneUnits& units, const PhiloxStream& draws, Purpose first,
                               Purpose rest, Input input, int& non_finite) {
  if (!units.any) return 0;
  const Philox4x32 words = draws.call_words(first, static_cast<uint32_t>(units.call.number));
  unsigned on = 0;
#pragma unroll
  for (int k = 0; k < kCallSites; ++k) {
    if (!units.has(k)) continue;
    const int64_t unit = units.call.site(k);
    const double at = input(k);
    const bool is_on = draw_by_word(
        -at, words.word[k], [&] { return draws.site_word(rest, static_cast<uint32_t>(unit)); });
    on |= static_cast<unsigned>(is_on) << unit % kBlockSites;
    non_finite |= !std::isfinite(at);
  }
  return on;
}

// Draws the hidden units of a sweep, given their inputs input(k).
template <class Input>
__device__ void draw_hidden(const SweepShape& s, const SweepChains& chains, int64_t sweep,
                            const LaneUnits& units, Input input) {
  const Shared shared(s, chains.words);
  int non_finite = 0;
  unsigned on = 0;
  if (units.any) {
    const PathPoint point(chains.path, units.chain);
    on = draw_units(
        units, sweep_draws(chains, units.chain, sweep), Purpose::kHidden, Purpose::kHiddenRest,
        [&](int k) { return point.hidden(input(k)); }, non_finite);
  }
  on = bits_of_lanes(on);
  if (units.first_lane()) shared.hidden[units.word()] = on;
  if (non_finite) atomicMax(shared.non_finite + Shared::of_sweep(s, sweep, units.chain), 1);
}

// Draws the hidden units of the first sweep from the inputs that are given, with one block per
// chain.
__global__ void draw_hidden_kernel(SweepShape s, SweepChains chains) {
  const int64_t c = blockIdx.x;
  const Shared shared(s, chains.words);
  if (threadIdx.x < 2) {
    shared.hops[Shared::of_sweep(s, threadIdx.x, c)] = 0;
    shared.non_finite[Shared::of_sweep(s, threadIdx.x, c)] = 0;
  }
  __syncthreads();
  const double* inputs = chains.inputs + c * s.hidden;
  const int64_t calls = SiteCall::count(s.hidden);
  for (int64_t first = threadIdx.x / 32 * 32; first < calls; first += blockDim.x) {
    const int64_t call = first + threadIdx.x % 32;
    const LaneUnits units{c, call < calls, {call}, s.hidden};
    draw_hidden(s, chains, 0, units, [&](int k) { return inputs[units.call.site(k)]; });
  }
}

// Holds rows of a block's 32 columns, with the numbers of each lane's four columns together. Two
// stages alternate.
struct Stage {
  Four row[kStageRows][kBlockCalls];
};

// Adds the rows of the units that are on in a lane's chain to the biases of its columns, with every
// four units added to each other first. All threads of the block must call it.
class Product {
 public:
  __device__ Product(const TiledMatrix& weights, const LaneUnits& columns, const uint32_t* words)
      : weights_(weights), columns_(columns), words_(words) {
    for (int k = 0; k < kCallSites; ++k) {
      const int64_t column = columns.call.site(k), tile = column / kTileColumns;
      at_[k] = tile < tile_count(weights.columns) ? weights.biases(tile) + column % kTileColumns
                                                  : nullptr;
    }
    sum_ = row(0);
    Stage* const stages = dynamic_shared_memory<Stage>();
    fetch(0);
    for (int64_t first = 0; first < weights.units; first += kStageRows) {
      Stage& stage = stages[first / kStageRows % 2];
      uint32_t on[kStageWords];
      for (int w = 0; w < kStageWords; ++w) on[w] = next_on_[w];
      for (int n = 0; n < kFetches; ++n) store_four(stage.row[stage_row(n)][lane()].of, next_[n]);
      __syncthreads();
      fetch(first + kStageRows);
#pragma unroll
      for (int w = 0; w < kStageWords; ++w) add(&stage.row[w * kBlockSites], on[w]);
    }
  }
  __device__ float sum(int k) const { return sum_.of[k]; }

 private:
  __device__ static int lane() { return threadIdx.x % kBlockCalls; }
  __device__ static int stage_row(int n) {
    return n * kProductChains + static_cast<int>(threadIdx.x / kBlockCalls);
  }
  // Returns row n of the lane's columns: row 0 holds the biases, and row n > 0 the weights of unit
  // n − 1.
  __device__ Four row(int64_t n) const {
    Four row;
    for (int k = 0; k < kCallSites; ++k) {
      row.of[k] = at_[k] && n < tile_rows(weights_.units) ? at_[k][n * kTileColumns] : 0.0f;
    }
    return row;
  }
  // Begins to load the rows of 64 units, and the words that say which of these units are on.
  __device__ void fetch(int64_t first) {
    for (int w = 0; w < kStageWords; ++w) {
      const int64_t word = first / kBlockSites + w;
      next_on_[w] = columns_.any && word < site_blocks(weights_.units) ? words_[word] : 0;
    }
    for (int n = 0; n < kFetches; ++n) next_[n] = row(1 + first + stage_row(n));
  }
  // Adds the rows of 32 units.
  __device__ void add(const Four (*rows)[kBlockCalls], uint32_t on) {
#pragma unroll
    for (int first = 0; first < kBlockSites; first += kRowGroup) {
      Four four = {};
      for (int i = first; i < first + kRowGroup; ++i) {
        const Four row = load_four(rows[i][lane()].of);
        const float times = on >> i & 1 ? 1.0f : 0.0f;  // The product by 0 or 1 is exact.
        for (int k = 0; k < kCallSites; ++k) four.of[k] += times * row.of[k];
      }
      for (int k = 0; k < kCallSites; ++k) sum_.of[k] += four.of[k];
    }
  }

  const TiledMatrix weights_;
  const LaneUnits& columns_;
  const uint32_t* words_;  // They belong to the lane's chain.
  const float* at_[kCallSites];
  Four sum_, next_[kFetches];
  uint32_t next_on_[kStageWords];
};

ISINGLASS_HD int64_t chain_parts(const SweepShape& s) {
  return (s.chains + kProductChains - 1) / kProductChains;
}
unsigned product_blocks(const SweepShape& s, int64_t columns) {
  return static_cast<unsigned>(chain_parts(s) * site_blocks(columns));
}

// Returns the columns of a lane of a product. Blocks of the same columns are adjacent.
__device__ LaneUnits lane_columns(const SweepShape& s, int64_t columns) {
  const int64_t parts = chain_parts(s);
  const int64_t c = blockIdx.x % parts * kProductChains + threadIdx.x / kBlockCalls;
  return {c, c < s.chains, {blockIdx.x / parts * kBlockCalls + threadIdx.x % kBlockCalls}, columns};
}

// The launch bounds leave registers for loads far ahead of their use (three blocks per
// multiprocessor), because there are too few warps to hide the latency.
#define ISINGLASS_PRODUCT __global__ void __launch_bounds__(kProductThreads, 3)

// Computes c = b_v + Wᵀ h, and draws the sites from it if they are binary.
ISINGLASS_PRODUCT to_visible_kernel(SweepShape s, SweepWeights w, int64_t sweep,
                                    SweepChains chains) {
  const Shared shared(s, chains.words);
  const LaneUnits units = lane_columns(s, s.visible());
  const Product c({w.to_visible, s.hidden, s.visible()}, units,
                  shared.hidden + units.chain * site_blocks(s.hidden));
  if (s.columns > 1) {
    float* inputs = chains.visible_inputs + units.chain * s.visible();
    for (int k = 0; k < kCallSites; ++k) {
      if (units.has(k)) inputs[units.call.site(k)] = c.sum(k);
    }
    return;
  }
  unsigned on = 0;
  int hops = 0, non_finite = 0;
  if (units.any) {
    const PathPoint point(chains.path, units.chain);
    on = draw_units(
        units, sweep_draws(chains, units.chain, sweep), Purpose::kSiteValue,
        Purpose::kSiteValueRest, [&](int k) { return point.visible(c.sum(k), units.call.site(k)); },
        non_finite);
    for (int k = 0; k < kCallSites; ++k) {
      if (!units.has(k)) continue;
      const int64_t at = units.chain * s.sites + units.call.site(k);
      const int bit = static_cast<int>(units.call.site(k) % kBlockSites);
      uint8_t& value = chains.x[at];
      if (chains.held && chains.held[at])
        on = (on & ~(1u << bit)) | static_cast<unsigned>(value) << bit;
      const uint8_t to = on >> bit & 1;
      hops += to != value;
      value = to;
    }
  }
  on = bits_of_lanes(on);
  hops = sum_of_lanes(hops);
  const int64_t count = Shared::of_sweep(s, sweep, units.chain);
  if (units.first_lane()) {
    shared.visible[units.word()] = on;
    if (hops > 0) atomicAdd(shared.hops + count, hops);
  }
  if (non_finite) atomicMax(shared.non_finite + count, 1);
}

// Draws sites of K values, given their inputs, with one block per chain.
__global__ void draw_values_kernel(SweepShape s, int64_t sweep, SweepChains chains) {
  const int64_t c = blockIdx.x;
  const Shared shared(s, chains.words);
  const PhiloxStream draws = sweep_draws(chains, c, sweep);
  const PathPoint point(chains.path, c);
  const float* inputs = chains.visible_inputs + c * s.visible();
  uint8_t* x = chains.x + c * s.sites;
  int hops = 0;
  bool non_finite = false;
  for (int64_t i = threadIdx.x; i < s.sites; i += blockDim.x) {
    bool finite = true;
    const bool held = chains.held && chains.held[c * s.sites + i];
    const int to = held ? x[i] : draw_value(s, draws, point, i, x[i], inputs, &finite);
    hops += to != x[i];
    non_finite |= !finite;
    x[i] = static_cast<uint8_t>(to);
  }
  const int64_t count = Shared::of_sweep(s, sweep, c);
  if (hops > 0) atomicAdd(shared.hops + count, hops);
  if (non_finite) atomicMax(shared.non_finite + count, 1);
  __syncthreads();
  for (int64_t w = threadIdx.x / 32; w < site_blocks(s.visible()); w += blockDim.x / 32) {
    const int64_t column = w * kBlockSites + threadIdx.x % 32, site = column / s.columns;
    const bool on = site < s.sites && s.column(site, x[site]) == column;
    const unsigned word = __ballot_sync(0xffffffffu, on);
    if (threadIdx.x % 32 == 0) shared.visible[c * site_blocks(s.visible()) + w] = word;
  }
}

// Computes a = b_h + W v, counts the sweep, and draws the hidden units of the next sweep if there
// is one.
ISINGLASS_PRODUCT to_hidden_kernel(SweepShape s, SweepWeights w, int64_t sweep, bool last,
                                   SweepChains chains) {
  const Shared shared(s, chains.words);
  const LaneUnits units = lane_columns(s, s.hidden);
  const Product a({w.to_hidden, s.visible(), s.hidden}, units,
                  shared.visible + units.chain * site_blocks(s.visible()));
  for (int k = 0; k < kCallSites; ++k) {
    if (units.has(k)) chains.inputs[units.chain * s.hidden + units.call.site(k)] = a.sum(k);
  }
  if (units.first_lane() && units.call.number == 0) {
    const int64_t count = Shared::of_sweep(s, sweep, units.chain);
    count_draw(chains.counts, units.chain, shared.hops[count], shared.non_finite[count] == 0);
    // The counts are cleared for the sweep after the next.
    shared.hops[count] = shared.non_finite[count] = 0;
  }
  if (!last) draw_hidden(s, chains, sweep + 1, units, [&](int k) { return a.sum(k); });
}

// Return sums over a block's chain, to the first thread.
__device__ VisibleSums visible_sums(const SweepShape& s, const float* biases, const float* logits,
                                    const uint8_t* x, double* tile) {
  const auto sum = [&](const float* vector) {
    return visible_sum(s.sites, tile, [&](int64_t i) { return of_value(s, vector, i, x[i]); });
  };
  const double of_biases = sum(biases);
  return {of_biases, logits ? sum(logits) : 0};
}
__device__ double hidden_at(const SweepShape& s, const PathPoint& at, const double* inputs,
                            double* tile) {
  return hidden_sum(inputs, s.hidden, tile, [](int64_t, const HiddenUnit&) {}, at.beta);
}

__global__ void free_energies_kernel(SweepShape s, const float* visible_biases, SweepPath path,
                                     PathStates states) {
  double* tile = dynamic_shared_memory<double>();
  const int64_t c = blockIdx.x;
  const PathPoint at(path, c);
  const VisibleSums visible =
      visible_sums(s, visible_biases, at.logits, states.x + c * s.sites, tile);
  const double hidden = hidden_at(s, at, states.inputs + c * s.hidden, tile);
  if (threadIdx.x == 0) states.energy[c] = path_energy(at, visible, hidden);
}

__global__ void energies_at_adjacent_rungs_kernel(SweepShape s, const float* visible_biases,
                                                  AdjacentRungs at) {
  double* tile = dynamic_shared_memory<double>();
  const int64_t c = at.chain[blockIdx.x], own = blockIdx.x % at.rungs;
  const VisibleSums visible = visible_sums(s, visible_biases, at.logits, at.x + c * s.sites, tile);
  const auto set = [&](double* energy, int64_t i) {
    const PathPoint point = at.point(i);
    const double hidden = hidden_at(s, point, at.inputs + c * s.hidden, tile);
    if (threadIdx.x == 0) energy[c] = path_energy(point, visible, hidden);
  };
  set(at.energy, own);
  if (at.wants_below(own)) set(at.below, own - 1);
  if (at.wants_above(own)) set(at.above, own + 1);
}

}  // namespace

int64_t sweep_words(const SweepShape& s) {
  return Shared::words(s);
}

void sweep_hidden(const SweepShape& s, const SweepWeights& w, int64_t steps,
                  const SweepChains& chains, Stream stream) {
  const LaunchShape block_a_chain{static_cast<unsigned>(s.chains), kThreads};
  const LaunchShape to_visible{product_blocks(s, s.visible()), kProductThreads, 2 * sizeof(Stage)};
  const LaunchShape to_hidden{product_blocks(s, s.hidden), kProductThreads, 2 * sizeof(Stage)};
  if (steps > 0) ISINGLASS_LAUNCH(draw_hidden_kernel, block_a_chain, stream, s, chains);
  for (int64_t t = 0; t < steps; ++t) {
    ISINGLASS_LAUNCH(to_visible_kernel, to_visible, stream, s, w, t, chains);
    if (s.columns > 1) ISINGLASS_LAUNCH(draw_values_kernel, block_a_chain, stream, s, t, chains);
    ISINGLASS_LAUNCH(to_hidden_kernel, to_hidden, stream, s, w, t, t == steps - 1, chains);
  }
  if (!chains.energy) return;
  free_energies(s, w.visible_biases, chains.path, {chains.x, chains.inputs, chains.energy}, stream);
}

void free_energies(const SweepShape& s, const float* visible_biases, const SweepPath& path,
                   const PathStates& states, Stream stream) {
  const LaunchShape launch{static_cast<unsigned>(s.chains), kThreads, tile_bytes()};
  ISINGLASS_LAUNCH(free_energies_kernel, launch, stream, s, visible_biases, path, states);
}

void energies_at_adjacent_rungs(const SweepShape& s, const float* visible_biases,
                                const AdjacentRungs& at, Stream stream) {
  const LaunchShape launch{static_cast<unsigned>(s.chains), kThreads, tile_bytes()};
  ISINGLASS_LAUNCH(energies_at_adjacent_rungs_kernel, launch, stream, s, visible_biases, at);
}

}  // namespace isinglass::cuda
