// CUDA twin of rbm_gibbs.h: one block makes all sweeps of eight chains. Shared memory holds
// which of them have a unit on, a byte a hidden unit and a column, or global memory where a block
// has too little; and a tile of the energies' sums of blocks. A thread reads a weight once for the
// eight chains.
#include "kernels/base/launch.h"
#include "kernels/rbm/rbm_gibbs.h"
#include "kernels/rbm/unit_sums_cuda.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kGroup = 8;  // chains of a block: the bits of a byte

struct Shared {
  double* tile;      // of fold_blocks()
  int* hops;         // [8]
  int* broken;       // [8]
  uint8_t* hidden;   // [H]: the chains in which a unit is on
  uint8_t* visible;  // [D·C]

  __device__ Shared(const SweepShape& s, uint8_t* units) {
    tile = dynamic_shared_memory<double>();
    hops = reinterpret_cast<int*>(tile + kTileBlocks);
    broken = hops + kGroup;
    hidden =
        units ? units + blockIdx.x * unit_bytes(s) : reinterpret_cast<uint8_t*>(broken + kGroup);
    visible = hidden + s.hidden;
  }
  ISINGLASS_HD static int64_t unit_bytes(const SweepShape& s) { return s.hidden + s.visible(); }
  static size_t bytes(const SweepShape& s, bool units) {
    return tile_bytes() + 2 * kGroup * sizeof(int) + (units ? unit_bytes(s) : 0);
  }
};

int64_t groups_of(const SweepShape& s) {
  return (s.chains + kGroup - 1) / kGroup;
}

// out [chains, columns]
template <class Out>
__device__ void multiply(const uint8_t* on, int chains, const TiledMatrix& weights, Out* out) {
  for (int64_t j = threadIdx.x; j < weights.columns; j += blockDim.x) {
    const float* row = weights.biases(j / kTileColumns) + j % kTileColumns;
    float sum[kGroup];
    for (float& own : sum) own = *row;
    for (int64_t begin = 0; begin < weights.units; begin += kRowGroup) {
      const int64_t end = begin + kRowGroup < weights.units ? begin + kRowGroup : weights.units;
      float four[kGroup] = {};
      for (int64_t i = begin; i < end; ++i) {
        row += kTileColumns;
        const unsigned chains_on = on[i];
        if (chains_on == 0) continue;
        const float weight = *row;
        for (int g = 0; g < kGroup; ++g) {
          if (chains_on >> g & 1) four[g] += weight;
        }
      }
      for (int g = 0; g < kGroup; ++g) sum[g] += four[g];
    }
    for (int g = 0; g < chains; ++g) out[g * weights.columns + j] = sum[g];
  }
}

// F_β of a chain, for a block.
__device__ void set_free_energy(const SweepShape& s, const float* visible_biases,
                                const SweepPath& path, const PathStates& states, int64_t c,
                                double* tile) {
  const PathPoint point(path, c);
  const uint8_t* x = states.x + c * s.sites;
  const double visible = visible_sum(
      s.sites, tile, [&](int64_t i) { return value_bias(s, point, visible_biases, i, x[i]); });
  const double hidden = hidden_sum(
      states.inputs + c * s.hidden, s.hidden, tile, [](int64_t, const HiddenUnit&) {}, point.beta);
  if (threadIdx.x == 0) states.energy[c] = -visible - hidden;
}

__global__ void free_energies_kernel(SweepShape s, const float* visible_biases, SweepPath path,
                                     PathStates states) {
  set_free_energy(s, visible_biases, path, states, blockIdx.x, dynamic_shared_memory<double>());
}

// The chains of a block, from `first` on.
struct Group {
  const SweepShape& s;
  const SweepWeights& w;
  const SweepChains& chains;
  Shared shared;
  int64_t first;
  int count;

  __device__ void draw_hidden(int64_t sweep) const {
    for (int64_t h = threadIdx.x; h < s.hidden; h += blockDim.x) {
      unsigned on = 0;
      for (int g = 0; g < count; ++g) {
        const PathPoint point(chains.path, first + g);
        const double input = point.hidden(chains.inputs[(first + g) * s.hidden + h]);
        const Draws draws = sweep_draws(chains, first + g, sweep);
        on |= draw_unit(draws, Purpose::kHidden, Purpose::kHiddenRest, h, input) << g;
        if (!std::isfinite(input)) atomicMax(shared.broken + g, 1);
      }
      shared.hidden[h] = static_cast<uint8_t>(on);
    }
  }

  __device__ void draw_sites(int64_t sweep) const {
    for (int64_t i = threadIdx.x; i < s.sites; i += blockDim.x) {
      for (int k = 0; k < s.columns; ++k) shared.visible[i * s.columns + k] = 0;
      for (int g = 0; g < count; ++g) {
        const float* inputs = chains.visible_inputs + (first + g) * s.visible();
        const PathPoint point(chains.path, first + g);
        uint8_t& value = chains.x[(first + g) * s.sites + i];
        const Draws draws = sweep_draws(chains, first + g, sweep);
        bool finite = true;
        int to;
        if (s.columns == 1) {
          const double input = point.visible(inputs[i], i);
          finite = std::isfinite(input);
          to = draw_unit(draws, Purpose::kSiteValue, Purpose::kSiteValueRest, i, input);
        } else {
          to = draw_value(s, draws, point, i, value, inputs, &finite);
        }
        if (to != value) atomicAdd(shared.hops + g, 1);
        if (!finite) atomicMax(shared.broken + g, 1);
        value = static_cast<uint8_t>(to);
        const int64_t column = s.column(i, to);
        if (column >= 0) shared.visible[column] |= static_cast<uint8_t>(1u << g);
      }
    }
  }

  __device__ void sweep(int64_t number) const {
    if (threadIdx.x < kGroup) shared.hops[threadIdx.x] = shared.broken[threadIdx.x] = 0;
    __syncthreads();
    draw_hidden(number);
    __syncthreads();
    multiply(shared.hidden, count, {w.to_visible, s.hidden, s.visible()},
             chains.visible_inputs + first * s.visible());
    __syncthreads();
    draw_sites(number);
    __syncthreads();
    for (int g = threadIdx.x; g < count; g += blockDim.x) {
      count_draw(chains.counts, first + g, shared.hops[g], shared.broken[g] == 0);
    }
    multiply(shared.visible, count, {w.to_hidden, s.visible(), s.hidden},
             chains.inputs + first * s.hidden);
    __syncthreads();
  }

  __device__ void set_energy(int64_t c) const {
    set_free_energy(s, w.visible_biases, chains.path, {chains.x, chains.inputs, chains.energy}, c,
                    shared.tile);
  }
};

__global__ void sweep_hidden_kernel(SweepShape s, SweepWeights w, int64_t steps,
                                    SweepChains chains) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kGroup;
  const int64_t left = s.chains - first;
  const Group group{s,      w,
                    chains, Shared(s, chains.units),
                    first,  left < kGroup ? static_cast<int>(left) : kGroup};
  for (int64_t t = 0; t < steps; ++t) group.sweep(t);
  for (int g = 0; g < group.count; ++g) group.set_energy(first + g);
}

}  // namespace

int64_t sweep_scratch(const SweepShape& s, int device) {
  const bool fits = static_cast<int64_t>(Shared::bytes(s, true)) <= shared_memory_limit(device);
  return fits ? 0 : groups_of(s) * Shared::unit_bytes(s);
}

void sweep_hidden(const SweepShape& s, const SweepWeights& w, int64_t steps,
                  const SweepChains& chains, Stream stream) {
  const LaunchShape launch{static_cast<unsigned>(groups_of(s)), kThreads,
                           Shared::bytes(s, !chains.units)};
  ISINGLASS_LAUNCH(sweep_hidden_kernel, launch, stream, s, w, steps, chains);
}

void free_energies(const SweepShape& s, const float* visible_biases, const SweepPath& path,
                   const PathStates& states, Stream stream) {
  const LaunchShape launch{static_cast<unsigned>(s.chains), kThreads, tile_bytes()};
  ISINGLASS_LAUNCH(free_energies_kernel, launch, stream, s, visible_biases, path, states);
}

}  // namespace isinglass::cuda
