// CUDA twin of normal.h: one block per chain, threads over sites.
#include "kernels/base/launch.h"
#include "kernels/random/normal.h"

namespace isinglass::cuda {
namespace {

__global__ void step_normals_kernel(int64_t sites, const int64_t* rng, const int64_t* chain_ids,
                                    double* out) {
  const int64_t c = blockIdx.x;
  const Draws draws = step_draws(rng, chain_ids[c]);
  for (int64_t i = threadIdx.x; i < sites; i += blockDim.x) {
    out[c * sites + i] = standard_normal(draws, Purpose::kNoise, static_cast<uint32_t>(i));
  }
}

}  // namespace

void step_normals(int64_t chains, int64_t sites, const int64_t* rng, const int64_t* chain_ids,
                  double* out, Stream stream) {
  ISINGLASS_LAUNCH(step_normals_kernel, {static_cast<unsigned>(chains), 128u}, stream, sites, rng,
                   chain_ids, out);
}

}  // namespace isinglass::cuda
