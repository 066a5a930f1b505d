// Performs the sweeps of chromatic.h on a GPU for states that are too large for the shared memory
// of a block. It takes one launch per colour, in which a thread handles the four ranks of a Philox
// call (SiteCall), for all chains side by side. This keeps a GPU busy with few chains of many
// sites, and since neighbours are drawn in different launches, no barrier is needed.
//
// `Sites` must have a member `colouring` and the functions count(), the number of sites; energy(x,
// site), a site's share of the energy; and draw(draws, chain, call, first, end, x, outcome), which
// draws the ranks of a call that lie in first … end − 1.
#pragma once

#include "kernels/gibbs/chromatic.h"
#include "kernels/lattice/parts_cuda.h"

namespace isinglass::cuda {

// A state of more sites is never kept in shared memory one byte per site.
constexpr int64_t kSharedSites = 32 << 10;

struct SweepOutcome {
  int32_t hops = 0;
  int32_t non_finite = 0;  // It is 1 if an energy was not finite.
};

// Divides the caller's scratch memory (sweep_scratch()) among its uses.
struct ColourScratch {
  double* parts;          // [lattice_parts(D), B]
  SweepOutcome* outcome;  // [B]. It belongs to the current sweep.

  ColourScratch(double* scratch, int64_t chains, int64_t sites)
      : parts(scratch),
        outcome(reinterpret_cast<SweepOutcome*>(scratch + chains * lattice_parts(sites))) {
    static_assert(sizeof(SweepOutcome) == sizeof(double));
  }
  static int64_t numbers(int64_t chains, int64_t sites) {
    return chains * (lattice_parts(sites) + 1);
  }
};

template <class Sites>
__global__ void colour_kernel(Sites sites, int64_t colour, int64_t chains, int64_t sweep,
                              const int64_t* rng, const int64_t* chain_ids, uint8_t* x,
                              SweepOutcome* outcomes) {
  const int64_t c = blockIdx.x % chains, block = blockIdx.x / chains, blocks = gridDim.x / chains;
  const PhiloxStream draws = step_draws(rng, chain_ids[c], sweep);
  const Colouring& colouring = sites.colouring;
  const int64_t first = colouring.offset[colour], end = colouring.offset[colour + 1];
  const int64_t first_call = first / SiteCall::kBlockSites * kBlockCalls;
  const int64_t last_call = SiteCall::count(end);
  uint8_t* own = x + c * sites.count();
  SweepOutcome outcome;
  for (int64_t n = first_call + block * blockDim.x + threadIdx.x; n < last_call;
       n += blocks * blockDim.x) {
    sites.draw(draws, c, SiteCall{n}, first, end, own, outcome);
  }
  const auto hops = static_cast<int32_t>(warp_sum(outcome.hops));
  if (threadIdx.x % 32 == 0 && hops > 0) atomicAdd(&outcomes[c].hops, hops);
  if (outcome.non_finite) atomicMax(&outcomes[c].non_finite, 1);
}

// Counts the sweep that has ended, if `counted`, and clears the outcomes for the next one. It is a
// template because clang does not support inline kernels in headers.
template <class Outcome>
__global__ void end_sweep_kernel(int64_t chains, bool counted, Outcome* outcomes,
                                 StepCounts counts) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= chains) return;
  if (counted) count_draw(counts, c, outcomes[c].hops, outcomes[c].non_finite == 0);
  outcomes[c] = {};
}

template <class Sites>
__global__ void part_energy_kernel(Sites sites, int64_t chains, const uint8_t* x, PartSums sums) {
  const ChainPart part(chains, sites.count());
  const uint8_t* own = x + part.chain * sites.count();
  double sum = 0;
  for (int64_t i = part.first + threadIdx.x; i < part.end; i += blockDim.x) {
    sum += sites.energy(own, i);
  }
  sums.store(block_sum(sum));
}

// Performs chromatic_sweep() for sites whose energy is constant + Σ sites.energy().
template <class Sites>
void sweep_colours(const Sites& sites, double constant, int64_t chains, int64_t steps,
                   const int64_t* rng, const int64_t* chain_ids, uint8_t* x, double* energy,
                   const StepCounts& counts, double* scratch, Stream stream) {
  if (steps == 0) return;
  constexpr unsigned kThreads = 256, kCountThreads = 64;
  const ColourScratch own(scratch, chains, sites.count());
  // A colour of average size has this many calls.
  const int64_t calls = SiteCall::count(sites.count() / sites.colouring.colours);
  const int64_t blocks = calls < kThreads ? 1 : (calls + kThreads - 1) / kThreads;
  const LaunchShape all{static_cast<unsigned>(chains * blocks), kThreads};
  const auto count_blocks = static_cast<unsigned>((chains + kCountThreads - 1) / kCountThreads);
  const auto end_sweep = [&](bool counted) {
    ISINGLASS_LAUNCH(end_sweep_kernel<SweepOutcome>, {count_blocks, kCountThreads}, stream, chains,
                     counted, own.outcome, counts);
  };
  end_sweep(false);
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t colour = 0; colour < sites.colouring.colours; ++colour) {
      ISINGLASS_LAUNCH(colour_kernel<Sites>, all, stream, sites, colour, chains, t, rng, chain_ids,
                       x, own.outcome);
    }
    end_sweep(true);
  }
  sum_parts(chains, sites.count(), constant, energy, own.parts, stream, [&](PartSums sums) {
    ISINGLASS_LAUNCH(part_energy_kernel<Sites>, part_launch(chains, sites.count(), kThreads),
                     stream, sites, chains, x, sums);
  });
}

}  // namespace isinglass::cuda
