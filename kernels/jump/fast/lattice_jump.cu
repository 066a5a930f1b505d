// Performs whole steps of a jump sampler on a binary lattice with neighbourhood tables (CUDA
// version of lattice_jump.h), many steps per launch.
//
// Regime: one block per chain, from the first step to the last, with up to 16 warps. A lane handles
// the four sites of a Philox call, as in jump.cu. Shared memory holds x and y, a byte per site
// each, and three numbers per block of 32 sites (the probabilities of both directions and the
// energy), about 2.75·D bytes. The results do not depend on the number of warps. find_thresholds
// takes one thread per threshold. It is used if a chain fits into shared memory
// (lattice_jump_fits()); otherwise a step takes jump.cu, an evaluation of the lattice and
// metropolis.cu.
#include "kernels/base/blocks.h"
#include "kernels/base/launch.h"
#include "kernels/base/log_product.h"
#include "kernels/jump/binary_rows.h"
#include "kernels/jump/fast/lattice_jump.h"

namespace isinglass::cuda {
namespace {

constexpr int kWarp = 32, kMostWarps = 16;
constexpr unsigned kThresholdThreads = 256;

__global__ void find_thresholds_kernel(JumpShape shape, NeighbourhoodTable neighbourhoods,
                                       const double* scale, int32_t* threshold) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= neighbourhoods.sites * kSiteThresholds) return;
  threshold[i] =
      flip_threshold(BinaryJumpParameters(shape, *scale), tabulated_difference(neighbourhoods, i));
}

// Divides the shared memory of a block among its uses.
struct SharedChain {
  double *forward, *backward;  // [blocks]. Hold the probabilities of x → y and of y → x.
  double* energy;              // [blocks]. Holds the energy of the block's sites in y.
  double* hops;                // [warps]
  int* accepted;
  uint8_t *x, *y;  // [D + 1]. The last site is always 0.

  __device__ SharedChain(double* memory, int64_t sites)
      : forward(memory),
        backward(forward + site_blocks(sites)),
        energy(backward + site_blocks(sites)),
        hops(energy + site_blocks(sites)),
        accepted(reinterpret_cast<int*>(hops + kMostWarps)),
        x(reinterpret_cast<uint8_t*>(accepted + 1)),
        y(x + sites + 1) {}
  static int64_t bytes(int64_t sites) {
    const int64_t doubles = 3 * site_blocks(sites) + kMostWarps;
    return doubles * static_cast<int64_t>(sizeof(double)) + static_cast<int64_t>(sizeof(int)) +
           2 * (sites + 1);
  }
};

class JumpChain {
 public:
  __device__ JumpChain(const LatticeJumpStep& step, const SharedChain& shared)
      : step_(step),
        shared_(shared),
        chain_(blockIdx.x),
        sites_(static_cast<int32_t>(step.neighbourhoods.sites)),
        energy_(step.energy[chain_]),
        counts_(step.counts, chain_) {}

  __device__ void run() {
    uint8_t* const own = step_.x + chain_ * sites_;
    for (int32_t i = threadIdx.x; i <= sites_; i += blockDim.x) {
      shared_.x[i] = i < sites_ ? own[i] : 0;
      if (i == sites_) shared_.y[i] = 0;
    }
    __syncthreads();
    for (int64_t t = 0; t < step_.steps; ++t) take_step(t);
    for (int32_t i = threadIdx.x; i < sites_; i += blockDim.x) own[i] = shared_.x[i];
    if (threadIdx.x > 0) return;
    step_.energy[chain_] = energy_;
    counts_.store(step_.counts, chain_);
  }

 private:
  __device__ void take_step(int64_t t) {
    const PhiloxStream draws = step_draws(step_.rng, step_.chain_ids[chain_], t);
    int32_t hops = 0;
    for_calls([&](SiteCall call) { hops += draw(call, draws); });
    __syncthreads();  // Waits until y is complete.
    for_calls([&](SiteCall call) { score(call); });
    const double of_warp = warp_sum(hops);
    if (threadIdx.x % kWarp == 0) shared_.hops[threadIdx.x / kWarp] = of_warp;
    __syncthreads();
    if (threadIdx.x < kWarp) decide(draws);
    __syncthreads();
    if (!*shared_.accepted) return;
    uint8_t* const before = shared_.x;
    shared_.x = shared_.y;
    shared_.y = before;
  }

  // Calls of_call() with one Philox call per lane; calls of the last warp may lie beyond the sites.
  template <class F>
  __device__ void for_calls(F of_call) const {
    const int32_t lane = threadIdx.x % kWarp;
    const auto calls = static_cast<int32_t>(SiteCall::count(sites_));
    for (int32_t n = threadIdx.x - lane; n < calls; n += blockDim.x) of_call(SiteCall{n + lane});
  }

  // Returns the index of a site's neighbourhood in the tables.
  __device__ int32_t place(const uint8_t* values, int32_t site) const {
    const uint32_t neighbourhood = neighbourhood_of(
        step_.neighbourhoods, site, [&](int32_t near) { return uint32_t{values[near]}; });
    return site * kNeighbourhoods + static_cast<int32_t>(neighbourhood);
  }
  // Returns the index of the threshold for the site's value and that neighbourhood.
  __device__ static int32_t threshold_place(int32_t place, int32_t value) {
    return 2 * place - place % kNeighbourhoods + value * kNeighbourhoods;
  }

  // Draws y at the sites of a call. Returns how many of them changed in this lane.
  __device__ int32_t draw(SiteCall call, const PhiloxStream& draws) const {
    const Philox4x32 words =
        draws.call_words(Purpose::kSiteValue, static_cast<uint32_t>(call.number));
    int32_t threshold[kCallSites], own[kCallSites], hops = 0;
#pragma unroll
    for (int k = 0; k < kCallSites; ++k) {
      const auto site = static_cast<int32_t>(call.site(k));
      own[k] = site < sites_ ? shared_.x[site] : -1;
      threshold[k] =
          own[k] < 0 ? 0 : step_.threshold[threshold_place(place(shared_.x, site), own[k])];
    }
    uint32_t count[kCallSites];
#pragma unroll
    for (int k = 0; k < kCallSites; ++k) {
      const bool flipped = own[k] >= 0 && flips(words.word[k], threshold[k]);
      count[k] = own[k] < 0 ? kFlipWhole : outcome_count(threshold[k], flipped);
      if (own[k] >= 0) shared_.y[call.site(k)] = static_cast<uint8_t>(own[k] ^ flipped);
      hops += flipped;
    }
    keep_probability(call, count, shared_.forward);
    return hops;
  }

  // Computes the reverse probability and the energy of y at the sites of a call.
  __device__ void score(SiteCall call) const {
    uint32_t count[kCallSites];
    double energy[kCallSites];
#pragma unroll
    for (int k = 0; k < kCallSites; ++k) {
      count[k] = kFlipWhole;
      energy[k] = 0;
      const auto site = static_cast<int32_t>(call.site(k));
      if (site >= sites_) continue;
      const int32_t at = place(shared_.y, site), own = shared_.y[site];
      count[k] = outcome_count(step_.threshold[threshold_place(at, own)], own != shared_.x[site]);
      energy[k] = tabulated_energy(step_.neighbourhoods, at, own);
    }
    keep_probability(call, count, shared_.backward);
    keep(call, eighth_sum(energy), shared_.energy);
  }

  // Stores the probability of the block that eight lanes share, given each lane's outcome_count().
  // A product of two counts is below 2^63; rounded to a double it equals that of two
  // outcome_weight().
  __device__ void keep_probability(SiteCall call, const uint32_t* count, double* of_blocks) const {
    const auto product = [&](int k) {
      return static_cast<double>(static_cast<int64_t>(uint64_t{count[k]} * count[k + 2]));
    };
    keep(call, block_probability(eighth_product(product(0), product(1))), of_blocks);
  }

  __device__ void keep(SiteCall call, double of_block, double* of_blocks) const {
    const auto block = static_cast<int32_t>(call.number / kBlockCalls);
    if (call.number % kBlockCalls == 0 && block < site_blocks(sites_)) of_blocks[block] = of_block;
  }

  // Performs the Metropolis test with one warp. Its first two lanes multiply the forward and the
  // reverse probabilities.
  __device__ void decide(const PhiloxStream& draws) {
    const int32_t lane = threadIdx.x, blocks = static_cast<int32_t>(site_blocks(sites_));
    LogProduct log_q;
    const double* const of_blocks = lane == 0 ? shared_.forward : shared_.backward;
    for (int32_t b = 0; b < blocks && lane < 2; ++b) log_q.multiply(of_blocks[b]);
    const double own = log_q.log(), backward = __shfl_sync(0xffffffffu, own, 1);
    double energy = 0;
    for (int32_t b = lane; b < blocks; b += kWarp) energy += shared_.energy[b];
    const double proposed = step_.neighbourhoods.constant + warp_sum(energy);
    const double hops =
        warp_sum(lane < static_cast<int32_t>(blockDim.x) / kWarp ? shared_.hops[lane] : 0);
    if (lane > 0) return;
    const ProposalScores scores{&energy_, &proposed, &own, &backward, step_.unadjusted};
    const Verdict verdict = metropolis(scores, 0, draws.uniform(Purpose::kAccept));
    count_verdict(counts_.pointers(), 0, verdict, verdict.accept ? static_cast<int64_t>(hops) : 0);
    if (verdict.accept) energy_ = proposed;
    *shared_.accepted = verdict.accept;
  }

  const LatticeJumpStep& step_;
  SharedChain shared_;
  int64_t chain_;
  int32_t sites_;
  double energy_;       // U(x). It is valid in the first thread.
  ChainCounts counts_;  // They are valid in the first thread.
};

__global__ void __launch_bounds__(kMostWarps* kWarp)
    lattice_jump_kernel(ISINGLASS_GRID_CONSTANT const LatticeJumpStep step) {
  JumpChain(step, SharedChain(dynamic_shared_memory<double>(), step.neighbourhoods.sites)).run();
}

// Chooses the fewest warps that need no more rounds over the calls than kMostWarps warps would.
LaunchShape jump_launch(int64_t chains, int64_t sites) {
  const int64_t all = (SiteCall::count(sites) + kWarp - 1) / kWarp;
  const int64_t rounds = (all + kMostWarps - 1) / kMostWarps, warps = (all + rounds - 1) / rounds;
  return {static_cast<unsigned>(chains), static_cast<unsigned>(warps * kWarp),
          static_cast<size_t>(SharedChain::bytes(sites))};
}

}  // namespace

bool lattice_jump_fits(int64_t sites, int device) {
  return SharedChain::bytes(sites) <= shared_memory_limit(device);
}

void find_thresholds(const JumpShape& shape, const NeighbourhoodTable& neighbourhoods,
                     const double* scale, int32_t* threshold, Stream stream) {
  const int64_t all = neighbourhoods.sites * kSiteThresholds;
  const auto blocks = static_cast<unsigned>((all + kThresholdThreads - 1) / kThresholdThreads);
  ISINGLASS_LAUNCH(find_thresholds_kernel, {blocks, kThresholdThreads}, stream, shape,
                   neighbourhoods, scale, threshold);
}

void lattice_jump_step(const LatticeJumpStep& step, Stream stream) {
  ISINGLASS_LAUNCH(lattice_jump_kernel, jump_launch(step.shape.chains, step.shape.sites), stream,
                   step);
}

}  // namespace isinglass::cuda
