// CUDA twin of chromatic.h: one block per chain, a thread for the four ranks of a Philox call
// (SiteCall). The state stays in shared memory from the first sweep to the last, unless it is too
// large; barriers stand between colours alone. What sweeps count is summed once a launch, and the
// energy is that of the last state: any number of steps a launch leaves the same.
#include "kernels/base/launch.h"
#include "kernels/gibbs/chromatic.h"

namespace isinglass::cuda {
namespace {

constexpr int64_t kLeastThreads = 64, kMostThreads = 512;
constexpr int64_t kSharedSites = 32 << 10;
constexpr int kSweepsTogether = 64;  // whose flags are in shared memory

__device__ void copy_state(uint8_t* to, const uint8_t* from, int64_t sites) {
  for (int64_t i = threadIdx.x; i < sites; i += blockDim.x) to[i] = from[i];
  __syncthreads();
}

// What a thread counts.
struct ThreadCounts {
  int64_t all = 0;   // hops of all sweeps
  int32_t last = 0;  // and of one
};

// One sweep of x [D]; sets `broken` where a local energy is not finite.
__device__ void sweep(const Lattice& lattice, const Colouring& colouring, const Draws& draws,
                      double beta, uint8_t* x, ThreadCounts& hops, int* broken) {
  const bool binary = lattice.categories == 2;
  hops.last = 0;
  for (int64_t colour = 0; colour < colouring.colours; ++colour) {
    const int64_t first = colouring.offset[colour], end = colouring.offset[colour + 1];
    const int64_t last_call = SiteCall::count(end);
    for (int64_t n = first / 32 * kBlockCalls + threadIdx.x; n < last_call; n += blockDim.x) {
      const auto number = static_cast<uint32_t>(n);
      const Philox4x32 words = draws.call_words(Purpose::kSiteValue, number);
      Philox4x32 rest = {};
      if (!binary) rest = draws.call_words(Purpose::kSiteValueRest, number);
      for (int k = 0; k < kCallSites; ++k) {
        const int64_t rank = SiteCall{n}.site(k);
        if (rank < first || rank >= end) continue;
        const auto second = [&] {
          return binary ? draws.site_word(Purpose::kSiteValueRest, static_cast<uint32_t>(rank))
                        : rest.word_of(k);
        };
        const SiteDraw draw =
            draw_site(lattice, colouring, beta, rank, words.word_of(k), second, x);
        hops.last += draw.moved;
        if (!draw.finite) atomicMax(broken, 1);
      }
    }
    __syncthreads();
  }
  hops.all += hops.last;
}

// U(x), for the first thread.
__device__ double energy_of(const Lattice& lattice, const uint8_t* x) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < lattice.sites; i += blockDim.x) {
    sum += site_energy(lattice, x, i);
  }
  return lattice.constant + block_sum(sum);
}

__global__ void chromatic_sweep_kernel(Lattice lattice, Colouring colouring, int64_t steps,
                                       const int64_t* rng, const int64_t* chain_ids,
                                       const double* beta, uint8_t* x, double* energy,
                                       StepCounts counts) {
  int* const broken = dynamic_shared_memory<int>();
  const int64_t c = blockIdx.x, sites = lattice.sites;
  const bool shared = sites <= kSharedSites;
  uint8_t* const kept = x + c * sites;
  uint8_t* const own = shared ? reinterpret_cast<uint8_t*>(broken + kSweepsTogether) : kept;
  if (shared) copy_state(own, kept, sites);
  const double own_beta = beta ? beta[c] : 1;
  ChainCounts own_counts(counts, c);
  ThreadCounts hops;
  for (int64_t t = 0; t < steps; t += kSweepsTogether) {
    const int64_t end = t + kSweepsTogether < steps ? t + kSweepsTogether : steps;
    for (unsigned n = threadIdx.x; n < kSweepsTogether; n += blockDim.x) broken[n] = 0;
    __syncthreads();
    for (int64_t n = t; n < end; ++n) {
      sweep(lattice, colouring, step_draws(rng, chain_ids[c], n), own_beta, own, hops,
            broken + (n - t));
    }
    if (threadIdx.x == 0) {  // after the last colour's barrier
      for (int64_t n = t; n < end; ++n) {
        count_draw(own_counts.pointers(), 0, 0, broken[n - t] == 0);
      }
    }
    __syncthreads();
  }
  if (shared) copy_state(kept, own, sites);
  const auto all = static_cast<int64_t>(block_sum(static_cast<double>(hops.all)));
  const auto last = static_cast<int64_t>(block_sum(hops.last));
  const double own_energy = energy_of(lattice, own);
  if (threadIdx.x > 0 || steps == 0) return;
  own_counts.hops = last;
  own_counts.hops_sum += all;
  energy[c] = own_energy;
  own_counts.store(counts, c);
}

// A thread a call of a colour of middle size.
unsigned threads_for(const Lattice& lattice, const Colouring& colouring) {
  const int64_t calls = SiteCall::count(lattice.sites / colouring.colours);
  const int64_t most = calls < kMostThreads ? (calls + 31) / 32 * 32 : kMostThreads;
  return static_cast<unsigned>(most > kLeastThreads ? most : kLeastThreads);
}

}  // namespace

void chromatic_sweep(const Lattice& lattice, const Colouring& colouring, int64_t chains,
                     int64_t steps, const int64_t* rng, const int64_t* chain_ids,
                     const double* beta, uint8_t* x, double* energy, const StepCounts& counts,
                     Stream stream) {
  const auto state = static_cast<size_t>(lattice.sites <= kSharedSites ? lattice.sites : 0);
  const LaunchShape shape{static_cast<unsigned>(chains), threads_for(lattice, colouring),
                          kSweepsTogether * sizeof(int) + state};
  ISINGLASS_LAUNCH(chromatic_sweep_kernel, shape, stream, lattice, colouring, steps, rng, chain_ids,
                   beta, x, energy, counts);
}

}  // namespace isinglass::cuda
