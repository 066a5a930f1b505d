// Draws and scores jump proposals, which move all sites at once (CUDA version of jump.h).
//
// Regime: one block of up to 256 threads per chain. A warp handles 128 binary sites, with the four
// sites of a Philox call per lane. Of other sites it handles 32: one per lane if the row has a
// closed form; otherwise (backward Euler with K > 2) all lanes solve one site after the other.
// Shared memory holds a tile of block sums (4 KiB), and for the solver K² + 2K numbers per warp (33
// KiB at K = 64); the number of warps is reduced so that they fit into 40 KiB. It serves all models
// on a GPU. For binary lattices with neighbourhood tables, fast/lattice_jump.cu replaces it if a
// chain fits into shared memory.
#include "kernels/base/blocks.h"
#include "kernels/base/launch.h"
#include "kernels/base/log_product.h"
#include "kernels/jump/binary_rows.h"
#include "kernels/jump/transition_rows.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int64_t kSharedBytes = 40 * 1024;

struct WarpSync {
  ISINGLASS_HD void operator()() const {
#if defined(__CUDA_ARCH__) || defined(ISINGLASS_SIMT)
    __syncwarp();
#endif
  }
};

// Returns the random words that decide a lane's binary sites; scoring needs none.
__device__ Philox4x32 flip_words(const DrawTarget& target, SiteCall call) {
  return target.draws.call_words(Purpose::kSiteValue, static_cast<uint32_t>(call.number));
}
__device__ Philox4x32 flip_words(const ScoreTarget&, SiteCall) {
  return {};
}

// Draws whether a binary site flips, and writes its new value.
__device__ bool flipped_at(const DrawTarget& target, int64_t site, uint32_t word,
                           int32_t threshold) {
  const bool flipped = flips(word, threshold);
  target.y[site] = static_cast<uint8_t>(target.x[site] ^ flipped);
  return flipped;
}

// Returns whether a binary site flipped, given the new values.
__device__ bool flipped_at(const ScoreTarget& target, int64_t site, uint32_t, int32_t) {
  return target.x[site] != target.y[site];
}

// Returns the probability of the outcomes of a block of binary sites, computed by eight lanes, each
// with the sites of one call.
template <class Target>
__device__ double block_of_flips(const JumpShape& shape, const BinaryJumpParameters& jump,
                                 const float* gradient, const uint8_t* x, const Target& target,
                                 SiteCall call) {
  double weight[kCallSites];
  const Philox4x32 words = flip_words(target, call);
#pragma unroll
  for (int k = 0; k < kCallSites; ++k) {
    weight[k] = kFlipWhole;
    const int64_t site = call.site(k);
    if (site >= shape.sites) continue;
    const float d = flip_difference(gradient[site], x[site]);
    const int32_t threshold = flip_threshold(jump, d);
    weight[k] = outcome_weight(threshold, flipped_at(target, site, words.word[k], threshold), d);
  }
  return block_probability(eighth_product(weight));
}

// Returns log q of a chain of binary sites, to the first thread.
template <class Target>
__device__ double flip_chain(const JumpShape& shape, double scale, const float* gradient,
                             const uint8_t* x, const Target& target, double* tile) {
  const BinaryJumpParameters jump(shape, scale);
  const int lane = threadIdx.x % kBlockCalls;
  LogProduct total;
  fold_blocks<32 / kBlockCalls>(
      site_blocks(shape.sites), tile,
      [&](int64_t b) {
        return block_of_flips(shape, jump, gradient, x, target, SiteCall{b * kBlockCalls + lane});
      },
      [&](double q) { total.multiply(q); });
  return total.log();
}

// Returns Σ log P of a block of non-binary sites, computed by a whole warp.
template <class Sites, class Target>
__device__ double block_log_q(const JumpShape& shape, const JumpParameters& jump,
                              const Sites& sites, const uint8_t* x, const Target& target,
                              int64_t first, int lane, double* scratch) {
  if (!needs_solve(shape)) {
    const int64_t i = first + lane;
    return warp_sum(
        i < shape.sites ? target.log_probability(ClosedRow<Sites>(jump, sites, i, x[i]), i) : 0);
  }
  double log_p = 0;
  for (int owner = 0; owner < kBlockSites && first + owner < shape.sites; ++owner) {
    const int64_t i = first + owner;
    const SolvedRow<Sites, WarpSync> row(jump, sites, i, x[i], scratch, lane, kBlockSites, {});
    if (lane == owner) log_p = target.log_probability(row, i);
    __syncwarp();  // Waits before the scratch memory is overwritten.
  }
  return warp_sum(log_p);
}

template <class Sites, class Target>
__device__ double value_chain(const JumpShape& shape, double scale, const Sites& sites,
                              const uint8_t* x, const Target& target, double* tile) {
  const JumpParameters jump(shape, scale);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  double* scratch = tile + kTileBlocks + warp * solve_numbers(shape.categories);
  double total = 0;
  fold_blocks(
      site_blocks(shape.sites), tile,
      [&](int64_t b) {
        return block_log_q(shape, jump, sites, x, target, b * kBlockSites, lane, scratch);
      },
      [&](double log_q) { total += log_q; });
  return total;
}

template <class Target>
__device__ void jump_chain(const JumpShape& shape, double scale, const uint8_t* x,
                           const float* gradient, const Target& target, double* log_q) {
  double* tile = dynamic_shared_memory<double>();
  const int64_t c = blockIdx.x;
  const uint8_t* own = x + c * shape.sites;
  double log_q_of_chain;
  if (shape.binary()) {
    log_q_of_chain = flip_chain(shape, scale, gradient + c * shape.sites, own, target, tile);
  } else if (shape.one_hot) {
    const OneHotSites sites{gradient + c * shape.sites * shape.categories, shape.categories};
    log_q_of_chain = value_chain(shape, scale, sites, own, target, tile);
  } else {
    const OrderedSites sites{gradient + c * shape.sites, shape.categories};
    log_q_of_chain = value_chain(shape, scale, sites, own, target, tile);
  }
  if (threadIdx.x == 0) log_q[c] = log_q_of_chain;
}

__global__ void draw_jump_kernel(JumpShape shape, const uint8_t* x, const float* gradient,
                                 const int64_t* rng, const int64_t* chain_ids, ChainScale scale,
                                 uint8_t* y, double* log_q) {
  const int64_t at = blockIdx.x * shape.sites;
  const DrawTarget target{step_draws(rng, chain_ids[blockIdx.x]), shape.categories, x + at, y + at};
  jump_chain(shape, scale[blockIdx.x], x, gradient, target, log_q);
}

__global__ void score_jump_kernel(JumpShape shape, const uint8_t* from, const float* gradient,
                                  const uint8_t* to, ChainScale scale, double* log_q) {
  const int64_t at = blockIdx.x * shape.sites;
  jump_chain(shape, scale[blockIdx.x], from, gradient, ScoreTarget{from + at, to + at}, log_q);
}

LaunchShape launch_shape(const JumpShape& shape) {
  if (!needs_solve(shape)) return {static_cast<unsigned>(shape.chains), kThreads, tile_bytes()};
  const int64_t each = solve_numbers(shape.categories) * static_cast<int64_t>(sizeof(double));
  const int64_t fitting = kSharedBytes / each, most = kThreads / 32;
  const int64_t warps = fitting < most ? fitting : most;
  return {static_cast<unsigned>(shape.chains), static_cast<unsigned>(32 * warps),
          tile_bytes() + static_cast<size_t>(warps * each)};
}

}  // namespace

void draw_jump(const JumpShape& shape, const uint8_t* x, const float* gradient, const int64_t* rng,
               const int64_t* chain_ids, ChainScale scale, uint8_t* y, double* log_q,
               Stream stream) {
  ISINGLASS_LAUNCH(draw_jump_kernel, launch_shape(shape), stream, shape, x, gradient, rng,
                   chain_ids, scale, y, log_q);
}

void score_jump(const JumpShape& shape, const uint8_t* from, const float* gradient,
                const uint8_t* to, ChainScale scale, double* log_q, Stream stream) {
  ISINGLASS_LAUNCH(score_jump_kernel, launch_shape(shape), stream, shape, from, gradient, to, scale,
                   log_q);
}

}  // namespace isinglass::cuda
