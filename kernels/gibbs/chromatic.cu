// Performs Gibbs sweeps by colours (CUDA version of chromatic.h), many steps per launch.
//
// Regime: one block per chain. A thread handles the four ranks of a Philox call (SiteCall); a block
// has as many threads as a colour of average size has calls, between 64 and 256. The state stays in
// shared memory (D bytes and 256 bytes of flags) from the first sweep to the last, and barriers are
// needed only between colours. Sites changed are summed once per launch, and the energy is computed
// from the last state, so that the result does not depend on the number of steps per launch. It
// serves all lattices of at most 32 Ki sites; larger states take one launch per colour
// (colour_cuda.h). For chains at β = 1 on binary lattices with neighbourhood tables,
// fast/chromatic_table.cu replaces it if there are at least 512 chains whose states fit, or if the
// state is larger than 32 Ki sites.
#include "kernels/base/launch.h"
#include "kernels/gibbs/colour_cuda.h"

namespace isinglass::cuda {
namespace {

constexpr int64_t kLeastThreads = 64, kMostThreads = 256;
// The non-finite flags of this many sweeps are in shared memory.
constexpr int kSweepsTogether = 64;

__device__ void copy_state(uint8_t* to, const uint8_t* from, int64_t sites) {
  for (int64_t i = threadIdx.x; i < sites; i += blockDim.x) to[i] = from[i];
  __syncthreads();
}

// Draws the sites of a lattice in the order of their colours, with the functions that
// colour_cuda.h requires.
struct LatticeSites {
  Lattice lattice;
  Colouring colouring;
  const double* beta;  // [B]. Null means 1.

  ISINGLASS_HD int64_t count() const { return lattice.sites; }
  __device__ double energy(const uint8_t* x, int64_t site) const {
    return site_energy(lattice, x, site);
  }
  __device__ void draw(const PhiloxStream& draws, int64_t chain, SiteCall call, int64_t first,
                       int64_t end, uint8_t* x, SweepOutcome& outcome) const {
    const bool binary = lattice.categories == 2;
    const double own_beta = beta ? beta[chain] : 1;
    const auto number = static_cast<uint32_t>(call.number);
    const Philox4x32 words = draws.call_words(Purpose::kSiteValue, number);
    Philox4x32 rest = {};
    if (!binary) rest = draws.call_words(Purpose::kSiteValueRest, number);
    for (int k = 0; k < kCallSites; ++k) {
      const int64_t rank = call.site(k);
      if (rank < first || rank >= end) continue;
      const auto second = [&] {
        return binary ? draws.site_word(Purpose::kSiteValueRest, static_cast<uint32_t>(rank))
                      : rest.word_of(k);
      };
      const SiteDraw draw =
          draw_site<LocalEnergies>(lattice, colouring, own_beta, rank, words.word_of(k), second, x);
      outcome.hops += draw.moved;
      outcome.non_finite |= !draw.finite;
    }
  }
};

// Performs one sweep of x [D] with a block of threads. Sets `non_finite` if a local energy is not
// finite. Returns how many sites this thread changed.
__device__ int32_t sweep(const LatticeSites& sites, const PhiloxStream& draws, int64_t chain,
                         uint8_t* x, int* non_finite) {
  SweepOutcome outcome;
  for (int64_t colour = 0; colour < sites.colouring.colours; ++colour) {
    const int64_t first = sites.colouring.offset[colour], end = sites.colouring.offset[colour + 1];
    const int64_t last_call = SiteCall::count(end);
    for (int64_t n = first / SiteCall::kBlockSites * kBlockCalls + threadIdx.x; n < last_call;
         n += blockDim.x) {
      sites.draw(draws, chain, SiteCall{n}, first, end, x, outcome);
    }
    __syncthreads();
  }
  if (outcome.non_finite) atomicMax(non_finite, 1);
  return outcome.hops;
}

__global__ void chromatic_sweep_kernel(LatticeSites sites, int64_t steps, const int64_t* rng,
                                       const int64_t* chain_ids, uint8_t* x, double* energy,
                                       StepCounts counts) {
  int* const non_finite = dynamic_shared_memory<int>();
  const int64_t c = blockIdx.x;
  uint8_t* const kept = x + c * sites.count();
  uint8_t* const own = reinterpret_cast<uint8_t*>(non_finite + kSweepsTogether);
  copy_state(own, kept, sites.count());
  ChainCounts own_counts(counts, c);
  int64_t all = 0;   // Counts the sites changed in all sweeps.
  int32_t last = 0;  // Counts those changed in the last sweep.
  for (int64_t t = 0; t < steps; t += kSweepsTogether) {
    const int64_t end = t + kSweepsTogether < steps ? t + kSweepsTogether : steps;
    for (unsigned n = threadIdx.x; n < kSweepsTogether; n += blockDim.x) non_finite[n] = 0;
    __syncthreads();
    for (int64_t n = t; n < end; ++n) {
      last = sweep(sites, step_draws(rng, chain_ids[c], n), c, own, non_finite + (n - t));
      all += last;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int64_t n = t; n < end; ++n) {
        count_draw(own_counts.pointers(), 0, 0, non_finite[n - t] == 0);
      }
    }
    __syncthreads();
  }
  copy_state(kept, own, sites.count());
  const auto hops_sum = static_cast<int64_t>(block_sum(static_cast<double>(all)));
  const auto hops = static_cast<int64_t>(block_sum(last));
  double own_energy = 0;
  for (int64_t i = threadIdx.x; i < sites.count(); i += blockDim.x) {
    own_energy += sites.energy(own, i);
  }
  own_energy = block_sum(own_energy);
  if (threadIdx.x > 0 || steps == 0) return;
  own_counts.hops = hops;
  own_counts.hops_sum += hops_sum;
  energy[c] = sites.lattice.constant + own_energy;
  own_counts.store(counts, c);
}

// Gives every thread one call of a colour of average size.
unsigned threads_for(const LatticeSites& sites) {
  const int64_t calls = SiteCall::count(sites.count() / sites.colouring.colours);
  const int64_t most = calls < kMostThreads ? (calls + 31) / 32 * 32 : kMostThreads;
  return static_cast<unsigned>(most > kLeastThreads ? most : kLeastThreads);
}

}  // namespace

int64_t sweep_scratch(int64_t chains, int64_t sites) {
  return sites <= kSharedSites ? 0 : ColourScratch::numbers(chains, sites);
}

void chromatic_sweep(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                     int64_t steps, const int64_t* rng, const int64_t* chain_ids,
                     const double* beta, uint8_t* x, double* energy, const StepCounts& counts,
                     double* scratch, Stream stream) {
  const LatticeSites sites{lattice, colouring, beta};
  if (lattice.sites > kSharedSites) {
    return sweep_colours(sites, lattice.constant, chains, steps, rng, chain_ids, x, energy, counts,
                         scratch, stream);
  }
  const LaunchShape shape{static_cast<unsigned>(chains), threads_for(sites),
                          kSweepsTogether * sizeof(int) + static_cast<size_t>(lattice.sites)};
  ISINGLASS_LAUNCH(chromatic_sweep_kernel, shape, stream, sites, steps, rng, chain_ids, x, energy,
                   counts);
}

}  // namespace isinglass::cuda
