// CUDA twin of random.h: one block per row.
#include "kernels/launch.h"
#include "kernels/random.h"

namespace isinglass::cuda {
namespace {

__global__ void bernoulli_rows_kernel(RowDraws draws, const float* p, int64_t stride,
                                      uint8_t* out) {
  const int64_t r = blockIdx.x;
  const Draws row = draws.row(r);
  for (int64_t i = threadIdx.x; i < draws.sites; i += blockDim.x) {
    out[r * draws.sites + i] =
        row.uniform(draws.purpose, static_cast<uint32_t>(i)) < p[r * stride + i];
  }
}

__global__ void uniform_rows_kernel(RowDraws draws, int categories, uint8_t* out) {
  const int64_t r = blockIdx.x;
  const Draws row = draws.row(r);
  for (int64_t i = threadIdx.x; i < draws.sites; i += blockDim.x) {
    out[r * draws.sites + i] =
        static_cast<uint8_t>(row.below(categories, draws.purpose, static_cast<uint32_t>(i)));
  }
}

LaunchShape block_per_row(const RowDraws& draws) {
  return {static_cast<unsigned>(draws.rows), 128u};
}

}  // namespace

void bernoulli_rows(const RowDraws& draws, const float* p, int64_t stride, uint8_t* out,
                    Stream stream) {
  ISINGLASS_LAUNCH(bernoulli_rows_kernel, block_per_row(draws), stream, draws, p, stride, out);
}

void uniform_rows(const RowDraws& draws, int categories, uint8_t* out, Stream stream) {
  ISINGLASS_LAUNCH(uniform_rows_kernel, block_per_row(draws), stream, draws, categories, out);
}

}  // namespace isinglass::cuda
