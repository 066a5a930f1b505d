// Draws rows of independent sites, freely or with few changes, of normal numbers, or of
// permutations (CUDA version of random_states.h).
//
// Regime: one block of 128 threads per row, whose threads stride over the sites (over Philox calls
// for normal numbers). A permutation, or a row of which few sites may change, is sequential and
// takes one thread; 128 of them share a block. No kernel uses shared memory. These kernels serve
// every GPU tensor and run outside of steps, except for draws from a reference distribution;
// random_states_cpu.cpp serves the CPU.
#include "kernels/base/launch.h"
#include "kernels/random/normal.h"
#include "kernels/random/random_states.h"

namespace isinglass::cuda {
namespace {

__global__ void bernoulli_rows_kernel(RowDraws draws, const float* p, int64_t stride,
                                      uint8_t* out) {
  const int64_t r = blockIdx.x;
  const PhiloxStream row = draws.row(r);
  for (int64_t i = threadIdx.x; i < draws.sites; i += blockDim.x) {
    out[r * draws.sites + i] =
        row.uniform(draws.purpose, static_cast<uint32_t>(i)) < p[r * stride + i];
  }
}

__global__ void categorical_rows_kernel(RowDraws draws, const double* p, int categories,
                                        uint8_t* out) {
  const int64_t r = blockIdx.x;
  const PhiloxStream row = draws.row(r);
  for (int64_t i = threadIdx.x; i < draws.sites; i += blockDim.x) {
    const double u = row.uniform(draws.purpose, static_cast<uint32_t>(i));
    out[r * draws.sites + i] = categorical_value(p + i * categories, categories, u);
  }
}

__global__ void uniform_rows_kernel(RowDraws draws, int categories, uint8_t* out) {
  const int64_t r = blockIdx.x;
  const PhiloxStream row = draws.row(r);
  for (int64_t i = threadIdx.x; i < draws.sites; i += blockDim.x) {
    out[r * draws.sites + i] =
        static_cast<uint8_t>(row.below(categories, draws.purpose, static_cast<uint32_t>(i)));
  }
}

__global__ void normal_rows_kernel(RowDraws draws, float* out) {
  const int64_t r = blockIdx.x;
  const PhiloxStream row = draws.row(r);
  for (int64_t n = threadIdx.x; n < NormalCall::count(draws.sites); n += blockDim.x) {
    each_normal_of(row, draws.purpose, {n}, draws.sites, [&](int64_t i, double number) {
      out[r * draws.sites + i] = static_cast<float>(number);
    });
  }
}

__global__ void permutation_rows_kernel(RowDraws draws, int64_t* out) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t r = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; r < draws.rows;
       r += stride) {
    draw_permutation(draws.row(r), draws.purpose, draws.sites, out + r * draws.sites);
  }
}

__global__ void limited_rows_kernel(RowDraws draws, LimitedSites sites, uint8_t* out) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t r = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; r < draws.rows;
       r += stride) {
    const PhiloxStream row = draws.row(r);
    const int64_t table = r / (draws.rows / sites.tables);
    int64_t left = sites.most[table];
    for (int64_t i = 0; i < draws.sites; ++i) {
      const double u = row.uniform(draws.purpose, static_cast<uint32_t>(i));
      out[r * draws.sites + i] = limited_value(sites, i, table * draws.sites + i, u, left);
    }
  }
}

LaunchShape block_per_row(const RowDraws& draws) {
  return {static_cast<unsigned>(draws.rows), 128u};
}

LaunchShape thread_per_row(const RowDraws& draws) {
  return {static_cast<unsigned>((draws.rows + 127) / 128), 128u};
}

}  // namespace

void bernoulli_rows(const RowDraws& draws, const float* p, int64_t stride, uint8_t* out,
                    Stream stream) {
  ISINGLASS_LAUNCH(bernoulli_rows_kernel, block_per_row(draws), stream, draws, p, stride, out);
}

void categorical_rows(const RowDraws& draws, const double* p, int categories, uint8_t* out,
                      Stream stream) {
  ISINGLASS_LAUNCH(categorical_rows_kernel, block_per_row(draws), stream, draws, p, categories,
                   out);
}

void uniform_rows(const RowDraws& draws, int categories, uint8_t* out, Stream stream) {
  ISINGLASS_LAUNCH(uniform_rows_kernel, block_per_row(draws), stream, draws, categories, out);
}

void normal_rows(const RowDraws& draws, float* out, Stream stream) {
  ISINGLASS_LAUNCH(normal_rows_kernel, block_per_row(draws), stream, draws, out);
}

void permutation_rows(const RowDraws& draws, int64_t* out, Stream stream) {
  ISINGLASS_LAUNCH(permutation_rows_kernel, thread_per_row(draws), stream, draws, out);
}

void limited_rows(const RowDraws& draws, const LimitedSites& sites, uint8_t* out, Stream stream) {
  ISINGLASS_LAUNCH(limited_rows_kernel, thread_per_row(draws), stream, draws, sites, out);
}

}  // namespace isinglass::cuda
