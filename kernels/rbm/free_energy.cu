// CUDA twin of free_energy.h: one block per chain, a thread for every hidden unit. Shared memory: a
// tile of the sums of blocks of 32 units.
#include "kernels/rbm/free_energy.h"
#include "kernels/rbm/unit_sums_cuda.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256;

// Whether y is nearer to x than to no unit on.
__device__ bool moves_from(const uint8_t* x, const uint8_t* y, int64_t visible) {
  int balance = 0;
  for (int64_t i = threadIdx.x; i < visible; i += blockDim.x) {
    balance += static_cast<int>(x[i] != y[i]) - static_cast<int>(y[i]);
  }
  return block_sum(balance) <= 0;
}

__global__ void move_hidden_kernel(HiddenShape s, HiddenWeights w, HiddenStart start,
                                   const uint8_t* states, HiddenUnits out) {
  double* tile = dynamic_shared_memory<double>();
  const int64_t c = blockIdx.x;
  const uint8_t* y = states + c * s.visible;
  const uint8_t* x = start.x ? start.x + c * s.visible : nullptr;
  const bool moves = x && moves_from(x, y, s.visible);
  for (int64_t h = threadIdx.x; h < s.hidden; h += blockDim.x) {
    double a = moves ? start.inputs[c * s.hidden + h] : w.hidden_biases[h];
    for (int64_t i = 0; i < s.visible; ++i) {
      const int change = static_cast<int>(y[i]) - (moves ? static_cast<int>(x[i]) : 0);
      if (change != 0) a += change * static_cast<double>(w.by_visible[i * s.hidden + h]);
    }
    out.inputs[c * s.hidden + h] = a;
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
  ISINGLASS_LAUNCH(move_hidden_kernel, {static_cast<unsigned>(s.chains), kThreads, tile_bytes()},
                   stream, s, w, start, y, out);
}

}  // namespace isinglass::cuda
