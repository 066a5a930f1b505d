// CPU twin of random_states.h.
#include "kernels/random/normal.h"
#include "kernels/random/random_states.h"

namespace isinglass::cpu {

void bernoulli_rows(const RowDraws& draws, const float* p, int64_t stride, uint8_t* out, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(draws.rows * draws.sites))
  for (int64_t r = 0; r < draws.rows; ++r) {
    const Draws row = draws.row(r);
    for (int64_t i = 0; i < draws.sites; ++i) {
      out[r * draws.sites + i] =
          row.uniform(draws.purpose, static_cast<uint32_t>(i)) < p[r * stride + i];
    }
  }
}

void uniform_rows(const RowDraws& draws, int categories, uint8_t* out, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(draws.rows * draws.sites))
  for (int64_t r = 0; r < draws.rows; ++r) {
    const Draws row = draws.row(r);
    for (int64_t i = 0; i < draws.sites; ++i) {
      out[r * draws.sites + i] =
          static_cast<uint8_t>(row.below(categories, draws.purpose, static_cast<uint32_t>(i)));
    }
  }
}

void normal_rows(const RowDraws& draws, float* out, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(draws.rows * draws.sites))
  for (int64_t r = 0; r < draws.rows; ++r) {
    const Draws row = draws.row(r);
    for (int64_t i = 0; i < draws.sites; ++i) {
      out[r * draws.sites + i] =
          static_cast<float>(standard_normal(row, draws.purpose, static_cast<uint32_t>(i)));
    }
  }
}

void permutation_rows(const RowDraws& draws, int64_t* out, Stream) {
#pragma omp parallel for schedule(static) if (parallel_pays(draws.rows * draws.sites))
  for (int64_t r = 0; r < draws.rows; ++r) {
    draw_permutation(draws.row(r), draws.purpose, draws.sites, out + r * draws.sites);
  }
}

}  // namespace isinglass::cpu
