// Draws and scores one-site proposals from a table of log weights (CUDA version of
// tabulated_site.h).
//
// Regime: one warp per chain; a block has 1, 2 or 4 chains. The warp builds the chain's two-level
// sums and draws one site. Shared memory per chain: 32 weights and the block sums, up to 48·⌈D/32⌉
// bytes; if a block of the device has less, the sums are in global memory. log_balances takes one
// thread per number. It serves learned balancing functions on binary models; there is no other
// GPU version.
#include "kernels/base/launch.h"
#include "kernels/path/tabulated_site.h"
#include "kernels/path/weight_sums_cuda.h"
#include "kernels/random/philox.h"

namespace isinglass::cuda {
namespace {

__device__ WeightSums<TabulatedWeights> table_sums(const TableShape& shape, const double* row,
                                                   const uint8_t* values, double* block_sums) {
  return build_sums(TabulatedWeights{row}, values, shape.sites, block_sums,
                    block_sums_size(shape.sites));
}

__global__ void draw_tabulated_site_kernel(TableShape shape, const double* table, const uint8_t* x,
                                           const int64_t* rng, const int64_t* chain_ids,
                                           uint32_t position, uint8_t* y, int64_t* site,
                                           double* block_sums, double* log_q) {
  const int64_t c = chain_of_warp();
  if (c >= shape.chains) return;
  const double* row = table + c * shape.sites;
  const uint8_t* from = x + c * shape.sites;
  uint8_t* to = y + c * shape.sites;
  for (int64_t i = threadIdx.x % kWarp; i < shape.sites; i += kWarp) to[i] = from[i];
  __syncwarp();
  const auto sums = table_sums(shape, row, from, block_sums);
  const double u = step_draws(rng, chain_ids[c]).uniform(Purpose::kSite, position);
  const int64_t drawn = sums.draw_site(sums.locate(u));
  if (sums.leads()) {
    to[drawn] = static_cast<uint8_t>(1 - from[drawn]);
    site[c] = drawn;
    log_q[c] = row[drawn] - sums.log_total();
  }
}

__global__ void score_tabulated_site_kernel(TableShape shape, const double* table, const uint8_t* x,
                                            const int64_t* site, double* block_sums,
                                            double* log_q) {
  const int64_t c = chain_of_warp();
  if (c >= shape.chains) return;
  const double* row = table + c * shape.sites;
  const auto sums = table_sums(shape, row, x + c * shape.sites, block_sums);
  if (sums.leads()) log_q[c] = row[site[c]] - sums.log_total();
}

__global__ void log_balances_kernel(int64_t count, const double* d, double* out) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  for (int g = 0; g < kBalancings; ++g) {
    out[g * count + i] = log_balance(static_cast<Balancing>(g), d[i]);
  }
}

}  // namespace

void draw_tabulated_site(const TableShape& shape, const double* table, const uint8_t* x,
                         const int64_t* rng, const int64_t* chain_ids, int64_t position, uint8_t* y,
                         int64_t* site, double* block_sums, double* log_q, Stream stream) {
  const LaunchShape launch =
      weight_sums_launch(shape.chains, block_sums_size(shape.sites), block_sums);
  ISINGLASS_LAUNCH(draw_tabulated_site_kernel, launch, stream, shape, table, x, rng, chain_ids,
                   static_cast<uint32_t>(position), y, site, block_sums, log_q);
}

void score_tabulated_site(const TableShape& shape, const double* table, const uint8_t* x,
                          const int64_t* site, double* block_sums, double* log_q, Stream stream) {
  const LaunchShape launch =
      weight_sums_launch(shape.chains, block_sums_size(shape.sites), block_sums);
  ISINGLASS_LAUNCH(score_tabulated_site_kernel, launch, stream, shape, table, x, site, block_sums,
                   log_q);
}

void log_balances(int64_t count, const double* d, double* out, Stream stream) {
  const auto blocks = static_cast<unsigned>((count + 255) / 256);
  ISINGLASS_LAUNCH(log_balances_kernel, {blocks, 256u}, stream, count, d, out);
}

}  // namespace isinglass::cuda
