// Fills a [B, D] array with the standard normal numbers of one step (CUDA version of normal.h).
//
// Regime: one block of 128 threads per chain. A thread computes the two numbers of one Philox call,
// and strides over the calls of the chain's sites. It uses no shared memory. All step_normals()
// calls on a GPU run this kernel, for any B and D; normal_cpu.cpp serves the CPU.
#include "kernels/base/launch.h"
#include "kernels/random/normal.h"

namespace isinglass::cuda {
namespace {

__global__ void step_normals_kernel(int64_t sites, const int64_t* rng, const int64_t* chain_ids,
                                    double* out) {
  const int64_t c = blockIdx.x;
  const PhiloxStream draws = step_draws(rng, chain_ids[c]);
  for (int64_t n = threadIdx.x; n < NormalCall::count(sites); n += blockDim.x) {
    each_normal_of(draws, Purpose::kNoise, {n}, sites,
                   [&](int64_t i, double number) { out[c * sites + i] = number; });
  }
}

}  // namespace

void step_normals(int64_t chains, int64_t sites, const int64_t* rng, const int64_t* chain_ids,
                  double* out, Stream stream) {
  ISINGLASS_LAUNCH(step_normals_kernel, {static_cast<unsigned>(chains), 128u}, stream, sites, rng,
                   chain_ids, out);
}

}  // namespace isinglass::cuda
