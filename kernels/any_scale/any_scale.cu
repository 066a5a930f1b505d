// Draws and scores any-scale proposals of ordered sites (CUDA version of any_scale.h).
//
// Regime: one block of 128 threads per chain, whose threads stride over the sites; a thread sums a
// site's K weights. A block sum gives log q; shared memory holds only its 32 warp sums. It serves
// all models on a GPU; any_scale_cpu.cpp serves the CPU.
#include "kernels/any_scale/any_scale.h"
#include "kernels/base/launch.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 128;

__device__ Categorical<OrderedLogWeight> ordered_row(const OrderedShape& shape,
                                                     const OrderedProposal& proposal, int64_t c,
                                                     int64_t i, const uint8_t* x) {
  return {shape.categories, ordered_log_weight(shape, proposal, c, i, x[c * shape.sites + i])};
}

__global__ void draw_ordered_kernel(OrderedShape shape, OrderedProposal proposal, const uint8_t* x,
                                    const int64_t* rng, const int64_t* chain_ids, uint8_t* y,
                                    double* move, double* log_q) {
  const int64_t c = blockIdx.x;
  const PhiloxStream draws = step_draws(rng, chain_ids[c]);
  double sum = 0;
  for (int64_t i = threadIdx.x; i < shape.sites; i += blockDim.x) {
    sum += draw_ordered_site(ordered_row(shape, proposal, c, i, x), shape, proposal, draws, c, i, x,
                             y, move);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) log_q[c] = sum;
}

__global__ void score_ordered_kernel(OrderedShape shape, OrderedProposal proposal,
                                     const uint8_t* from, const uint8_t* to, double* log_q) {
  const int64_t c = blockIdx.x;
  double sum = 0;
  for (int64_t i = threadIdx.x; i < shape.sites; i += blockDim.x) {
    sum += score_ordered_site(ordered_row(shape, proposal, c, i, from), shape, proposal, c, i, to);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) log_q[c] = sum;
}

}  // namespace

void draw_ordered(const OrderedShape& shape, const OrderedProposal& proposal, const uint8_t* x,
                  const int64_t* rng, const int64_t* chain_ids, uint8_t* y, double* move,
                  double* log_q, Stream stream) {
  ISINGLASS_LAUNCH(draw_ordered_kernel, {static_cast<unsigned>(shape.chains), kThreads}, stream,
                   shape, proposal, x, rng, chain_ids, y, move, log_q);
}

void score_ordered(const OrderedShape& shape, const OrderedProposal& proposal, const uint8_t* from,
                   const uint8_t* to, double* log_q, Stream stream) {
  ISINGLASS_LAUNCH(score_ordered_kernel, {static_cast<unsigned>(shape.chains), kThreads}, stream,
                   shape, proposal, from, to, log_q);
}

}  // namespace isinglass::cuda
