// Performs a round of swaps of parallel tempering, and replaces chains at the reference (CUDA
// version of swap.h).
//
// Regime: one block of 128 threads per ensemble. swap_rungs has the threads over the rungs in each
// of its four parts, with a barrier between them, and then over the bytes of the top chain's state.
// replace_reference has the threads over the bytes of each row. Neither uses shared memory. They
// serve any number of rungs on a GPU; swap_cpu.cpp serves the CPU.
#include "kernels/base/launch.h"
#include "kernels/tempering/swap.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 128;

template <class F>
__device__ void for_each_rung(int64_t rungs, F f) {
  for (int64_t i = threadIdx.x; i < rungs; i += blockDim.x) f(i);
  __syncthreads();
}

__global__ void swap_rungs_kernel(Ladder ladder, RungChains at, SwapCounts counts, TopChains top,
                                  const int64_t* rng, const int64_t* ensemble_ids) {
  const int64_t e = blockIdx.x, rungs = ladder.rungs;
  const SwapRound round{ladder, at, counts, top, rng, e};
  for_each_rung(rungs, [&](int64_t i) { round.take_counts(i); });
  for_each_rung(rungs, [&](int64_t i) { round.clear_counts(i); });
  for_each_rung(rungs, [&](int64_t i) { round.swap(i, ensemble_ids[e]); });
  for_each_rung(rungs, [&](int64_t i) { round.place(i); });
  const uint8_t* from = top.states + round.chain(rungs - 1) * top.bytes;
  for (int64_t k = threadIdx.x; k < top.bytes; k += blockDim.x) top.x[e * top.bytes + k] = from[k];
}

__global__ void replace_reference_kernel(int64_t rungs, const int64_t* rng, const int64_t* chain,
                                         ReferenceRows rows) {
  if (rng[1] % 2 != 0) return;
  const int64_t e = blockIdx.x, c = chain[e * rungs];
  for (int r = 0; r < rows.count; ++r) {
    const ReferenceRows::Row& row = rows.row[r];
    for (int64_t k = threadIdx.x; k < row.bytes; k += blockDim.x) {
      row.chains[c * row.bytes + k] = row.own[e * row.bytes + k];
    }
  }
}

}  // namespace

void swap_rungs(const Ladder& ladder, const RungChains& at, const SwapCounts& counts,
                const TopChains& top, const int64_t* rng, const int64_t* ensemble_ids,
                Stream stream) {
  ISINGLASS_LAUNCH(swap_rungs_kernel, {static_cast<unsigned>(ladder.ensembles), kThreads}, stream,
                   ladder, at, counts, top, rng, ensemble_ids);
}

void replace_reference(int64_t ensembles, int64_t rungs, const int64_t* rng, const int64_t* chain,
                       const ReferenceRows& rows, Stream stream) {
  ISINGLASS_LAUNCH(replace_reference_kernel, {static_cast<unsigned>(ensembles), kThreads}, stream,
                   rungs, rng, chain, rows);
}

}  // namespace isinglass::cuda
