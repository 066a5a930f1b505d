// Updates the hidden inputs and computes the energies of a binary RBM (CUDA version of
// free_energy.h).
//
// Regime: one block of 256 threads per chain, with a thread for every 256th hidden unit. Shared
// memory holds a tile of block sums (4 KiB) and a list of the visible units to add (8 KiB), which
// is filled for 2048 sites at a time, so that a thread's work is proportional to the number of
// units that changed. It serves all evaluations of binary integer states on a GPU; one-hot and
// floating-point states take dense matrix products of PyTorch.
#include "kernels/rbm/free_energy.h"
#include "kernels/rbm/unit_sums_cuda.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256, kWarps = kThreads / 32;
constexpr int64_t kListed = 2048;  // The changes of this many sites are listed together.
constexpr int64_t kWarpSites = kListed / kWarps;  // A warp lists this many sites.

// Returns true if at most as many units differ between x and y as are on in y. The update then
// starts from the inputs at x.
__device__ bool moves_from(const uint8_t* x, const uint8_t* y, int64_t visible) {
  int balance = 0;
  for (int64_t i = threadIdx.x; i < visible; i += blockDim.x) {
    balance += static_cast<int>(x[i] != y[i]) - static_cast<int>(y[i]);
  }
  return block_sum(balance) <= 0;
}

// Lists the units that changed among the sites first … first + kListed − 1, in ascending order, for
// all threads of a block. A unit has changed if y differs from x, or if it is on and there is no x.
// Site i is listed as i + 1 if it turned on, and as −(i + 1) if it turned off.
struct MovedUnits {
  int32_t place[kListed];
  int count_of[kWarps];

  // Returns which of a warp's 32 sites have changed, to all of its lanes.
  __device__ static unsigned moved(const uint8_t* x, const uint8_t* y, int64_t site, int64_t end) {
    return __ballot_sync(0xffffffffu, site < end && y[site] != (x ? x[site] : 0));
  }
  // Fills the list and returns its length.
  __device__ int list(const uint8_t* x, const uint8_t* y, int64_t first, int64_t visible) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t last = first + (warp + 1) * kWarpSites;
    const int64_t begin = last - kWarpSites, end = last < visible ? last : visible;
    __syncthreads();  // Waits until the previous list has been read.
    int count = 0;
    for (int64_t i = begin; i < end; i += 32) count += __popc(moved(x, y, i + lane, end));
    if (lane == 0) count_of[warp] = count;
    __syncthreads();
    int at = 0, all = 0;
    for (int w = 0; w < static_cast<int>(kWarps); ++w) {
      if (w < warp) at += count_of[w];
      all += count_of[w];
    }
    for (int64_t i = begin; i < end; i += 32) {
      const unsigned own = moved(x, y, i + lane, end);
      const int before = __popc(own & ((1u << lane) - 1));
      const auto number = static_cast<int32_t>(i + lane + 1);
      if (own >> lane & 1) place[at + before] = y[i + lane] ? number : -number;
      at += __popc(own);
    }
    __syncthreads();
    return all;
  }
};

__global__ void move_hidden_kernel(HiddenShape s, HiddenWeights w, HiddenStart start,
                                   const uint8_t* states, HiddenUnits out) {
  double* tile = dynamic_shared_memory<double>();
  MovedUnits& units = *reinterpret_cast<MovedUnits*>(tile + kTileBlocks);
  const int64_t c = blockIdx.x;
  const uint8_t* y = states + c * s.visible;
  const uint8_t* x = start.x ? start.x + c * s.visible : nullptr;
  const bool moves = x && moves_from(x, y, s.visible);
  if (!moves) x = nullptr;
  double* inputs = out.inputs + c * s.hidden;
  for (int64_t h = threadIdx.x; h < s.hidden; h += blockDim.x) {
    inputs[h] = moves ? start.inputs[c * s.hidden + h] : w.hidden_biases[h];
  }
  for (int64_t first = 0; first < s.visible; first += kListed) {
    const int count = units.list(x, y, first, s.visible);
    for (int64_t h = threadIdx.x; h < s.hidden; h += blockDim.x) {
      double a = inputs[h];
      for (int n = 0; n < count; ++n) {
        const int32_t place = units.place[n];
        const int64_t i = (place > 0 ? place : -place) - 1;
        const double weight = w.by_visible[i * s.hidden + h];
        a += place > 0 ? weight : -weight;
      }
      inputs[h] = a;
    }
  }
  __syncthreads();
  const double visible = visible_sum(
      s.visible, tile, [&](int64_t i) { return y[i] * static_cast<double>(w.visible_biases[i]); });
  const double hidden =
      hidden_sum(out.inputs + c * s.hidden, s.hidden, tile, [&](int64_t h, const HiddenUnit& unit) {
        if (out.on) out.on[c * s.hidden + h] = unit.sigmoid();
      });
  if (threadIdx.x == 0) out.energy[c] = -visible - hidden;
}

}  // namespace

void move_hidden(const HiddenShape& s, HiddenWeights w, HiddenStart start, const uint8_t* y,
                 HiddenUnits out, Stream stream) {
  const LaunchShape shape{static_cast<unsigned>(s.chains), kThreads,
                          tile_bytes() + sizeof(MovedUnits)};
  ISINGLASS_LAUNCH(move_hidden_kernel, shape, stream, s, w, start, y, out);
}

}  // namespace isinglass::cuda
