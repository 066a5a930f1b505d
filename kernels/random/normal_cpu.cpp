// CPU twin of normal.h.
#include "kernels/random/normal.h"

namespace isinglass::cpu {

void step_normals(int64_t chains, int64_t sites, const int64_t* rng, const int64_t* chain_ids,
                  double* out, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(chains * sites))
  for (int64_t c = 0; c < chains; ++c) {
    const Draws draws = step_draws(rng, chain_ids[c]);
    for (int64_t i = 0; i < sites; ++i) {
      out[c * sites + i] = standard_normal(draws, Purpose::kNoise, static_cast<uint32_t>(i));
    }
  }
}

}  // namespace isinglass::cpu
