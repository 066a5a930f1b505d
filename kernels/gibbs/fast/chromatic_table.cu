// Performs Gibbs sweeps by colours with neighbourhood tables (CUDA version of chromatic_table.h),
// many steps per launch.
//
// Regime: one block per 32 chains. Lane l of every warp works on chain l, and the warps share the
// sites of a colour: a warp handles the four ranks of a Philox call, with as many warps as a colour
// of average size has calls, at most 32. Shared memory holds a site's values in the 32 chains as
// the bits of one word, 4·(D + 1) bytes, and 8 bytes per thread for sums. A warp reads and writes a
// word at once; a chain's neighbourhood is four such bits, and its draw is a look-up in a table row
// that all lanes read. Sites changed are summed once per launch, and the energy is computed from
// the last state, so that the result does not depend on the number of steps per launch. It serves
// binary lattices with tables at β = 1 if there are at least 512 chains and the shared memory
// suffices. Otherwise states of more than 32 Ki sites take one launch per colour with the same
// look-ups (colour_cuda.h), and smaller ones take chromatic.cu.
#include "kernels/base/launch.h"
#include "kernels/gibbs/colour_cuda.h"
#include "kernels/gibbs/fast/chromatic_table.h"
#include "kernels/lattice/fast/table_cuda.h"

namespace isinglass::cuda {
namespace {

constexpr int kLanes = 32;
constexpr int kMostWarps = 32;
// With fewer chains, blocks of single chains (chromatic.cu) keep more multiprocessors busy.
constexpr int64_t kLeastChains = 512;

// Returns the drawn value of the site at a rank. `place` is the index of its neighbourhood in the
// tables, and `word` the first word of its random number.
__device__ bool draw_by_table(const NeighbourhoodTable& table, int64_t place, uint32_t word,
                              const PhiloxStream& draws, int64_t rank) {
  const uint32_t threshold = table.threshold_word[place];
  if (word != threshold) return word > threshold;
  return draw_rank(BernoulliConditional(table.flip_energy[place]), draws, rank);
}

// Draws the sites of one chain, stored as one byte each, with the functions that colour_cuda.h
// requires.
struct TableSites {
  NeighbourhoodTable table;
  Colouring colouring;

  ISINGLASS_HD int64_t count() const { return table.sites; }
  __device__ double energy(const uint8_t* x, int64_t site) const {
    return tabulated_energy(table, place_of(table, x, site), x[site] != 0);
  }
  __device__ void draw(const PhiloxStream& draws, int64_t, SiteCall call, int64_t first,
                       int64_t end, uint8_t* x, SweepOutcome& outcome) const {
    const Philox4x32 words =
        draws.call_words(Purpose::kSiteValue, static_cast<uint32_t>(call.number));
    int64_t site[kCallSites], at[kCallSites];
#pragma unroll
    for (int k = 0; k < kCallSites; ++k) {
      const int64_t rank = call.site(k);
      site[k] = rank >= first && rank < end ? colouring.site[rank] : -1;
    }
#pragma unroll
    for (int k = 0; k < kCallSites; ++k) at[k] = site[k] < 0 ? 0 : place_of(table, x, site[k]);
#pragma unroll
    for (int k = 0; k < kCallSites; ++k) {
      if (site[k] < 0) continue;
      const bool one = draw_by_table(table, at[k], words.word[k], draws, call.site(k));
      outcome.hops += one != (x[site[k]] != 0);
      x[site[k]] = one;
    }
  }
};

struct Lattice32 {
  const NeighbourhoodTable& table;
  const Colouring& colouring;
  // [D + 1]. Bit l of a word is the site's value in chain l. The last site is always 0.
  uint32_t* values;
  int lane;

  // Returns the index of this lane's neighbourhood of a site in the tables.
  __device__ int32_t place(int32_t site) const {
    const uint32_t neighbourhood =
        neighbourhood_of(table, site, [&](int32_t near) { return values[near] >> lane & 1u; });
    return site * kNeighbourhoods + static_cast<int32_t>(neighbourhood);
  }
};

// Draws the ranks of a call that lie in first … end − 1, and returns how many sites changed in this
// lane's chain. All lanes work on the same rank.
__device__ int32_t draw_call(const Lattice32& lattice, const PhiloxStream& draws, SiteCall call,
                             int64_t first, int64_t end) {
  const Philox4x32 words =
      draws.call_words(Purpose::kSiteValue, static_cast<uint32_t>(call.number));
  int32_t site[kCallSites], place[kCallSites];
#pragma unroll
  for (int k = 0; k < kCallSites; ++k) {
    const int64_t rank = call.site(k);
    site[k] = rank >= first && rank < end ? lattice.colouring.site[rank] : -1;
  }
#pragma unroll
  for (int k = 0; k < kCallSites; ++k) place[k] = site[k] < 0 ? 0 : lattice.place(site[k]);
  int32_t hops = 0;
#pragma unroll
  for (int k = 0; k < kCallSites; ++k) {
    if (site[k] < 0) continue;
    const bool one = draw_by_table(lattice.table, place[k], words.word[k], draws, call.site(k));
    const uint32_t before = lattice.values[site[k]];
    const uint32_t after = __ballot_sync(0xffffffffu, one);
    hops += static_cast<int32_t>((before ^ after) >> lattice.lane & 1u);
    if (lattice.lane == 0) lattice.values[site[k]] = after;
  }
  return hops;
}

// Returns each lane's sum over the warps of a block, to the first warp. sums [warps, 32].
__device__ double sum_of_warps(double own, double* sums) {
  const unsigned warps = blockDim.x / kLanes;
  __syncthreads();  // Waits until the previous sums have been read.
  sums[threadIdx.x] = own;
  __syncthreads();
  double total = 0;
  for (unsigned w = 0; w < warps && threadIdx.x < kLanes; ++w) {
    total += sums[w * kLanes + threadIdx.x];
  }
  return total;
}

__global__ void __launch_bounds__(kMostWarps* kLanes)
    table_sweep_kernel(NeighbourhoodTable table, Colouring colouring, int64_t chains, int64_t steps,
                       const int64_t* rng, const int64_t* chain_ids, uint8_t* x, double* energy,
                       StepCounts counts) {
  double* const sums = dynamic_shared_memory<double>();  // [threads]
  uint32_t* const values = reinterpret_cast<uint32_t*>(sums + blockDim.x);
  const int64_t first_chain = static_cast<int64_t>(blockIdx.x) * kLanes;
  const int count = static_cast<int>(chains - first_chain < kLanes ? chains - first_chain : kLanes);
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  const int64_t warp = threadIdx.x / kLanes, warps = blockDim.x / kLanes;
  const int64_t chain = first_chain + (lane < count ? lane : count - 1);
  uint8_t* const own = x + first_chain * table.sites;
  for (int64_t i = threadIdx.x; i <= table.sites; i += blockDim.x) {
    uint32_t word = 0;
    for (int c = 0; c < count && i < table.sites; ++c) {
      word |= static_cast<uint32_t>(own[c * table.sites + i]) << c;
    }
    values[i] = word;
  }
  __syncthreads();
  const Lattice32 lattice{table, colouring, values, lane};
  int64_t all = 0;
  int32_t last = 0;
  for (int64_t t = 0; t < steps; ++t) {
    const PhiloxStream draws = step_draws(rng, chain_ids[chain], t);
    last = 0;
    for (int64_t colour = 0; colour < colouring.colours; ++colour) {
      const int64_t first = colouring.offset[colour], end = colouring.offset[colour + 1];
      const int64_t last_call = SiteCall::count(end);
      for (int64_t n = first / SiteCall::kBlockSites * kBlockCalls + warp; n < last_call;
           n += warps) {
        last += draw_call(lattice, draws, {n}, first, end);
      }
      __syncthreads();
    }
    all += last;
  }
  double own_energy = 0;
  for (int64_t i = warp; i < table.sites; i += warps) {
    own_energy +=
        tabulated_energy(table, lattice.place(static_cast<int32_t>(i)), values[i] >> lane & 1u);
  }
  for (int64_t i = threadIdx.x; i < table.sites; i += blockDim.x) {
    for (int c = 0; c < count; ++c) own[c * table.sites + i] = values[i] >> c & 1u;
  }
  const double hops_sum = sum_of_warps(static_cast<double>(all), sums);
  const double hops = sum_of_warps(last, sums);
  own_energy = sum_of_warps(own_energy, sums);
  if (static_cast<int>(threadIdx.x) >= count || steps == 0) return;
  ChainCounts own_counts(counts, chain);
  for (int64_t t = 0; t < steps; ++t) count_draw(own_counts.pointers(), 0, 0, true);
  own_counts.hops = static_cast<int64_t>(hops);
  own_counts.hops_sum += static_cast<int64_t>(hops_sum);
  own_counts.store(counts, chain);
  energy[chain] = table.constant + own_energy;
}

// Gives every warp one call of a colour of average size, with at most kMostWarps warps.
LaunchShape table_launch(int64_t chains, int64_t sites, int64_t colours) {
  const int64_t calls = SiteCall::count(sites / colours);
  const int64_t warps = calls < 1 ? 1 : calls < kMostWarps ? calls : kMostWarps;
  const int64_t bytes = warps * kLanes * static_cast<int64_t>(sizeof(double)) +
                        (sites + 1) * static_cast<int64_t>(sizeof(uint32_t));
  return {static_cast<unsigned>((chains + kLanes - 1) / kLanes),
          static_cast<unsigned>(warps * kLanes), static_cast<size_t>(bytes)};
}

bool chains_side_by_side(int64_t chains, int64_t sites, int device) {
  const auto most = static_cast<int64_t>(table_launch(chains, sites, 1).shared_bytes);
  return chains >= kLeastChains && most <= shared_memory_limit(device);
}

}  // namespace

bool wants_table_sweep(int64_t chains, int64_t sites, int device) {
  return sites > kSharedSites || chains_side_by_side(chains, sites, device);
}

void table_sweep(const NeighbourhoodTable& table, const Colouring& colouring, int64_t chains,
                 int64_t steps, const int64_t* rng, const int64_t* chain_ids, uint8_t* x,
                 double* energy, const StepCounts& counts, double* scratch, Stream stream) {
  if (table.sites > kSharedSites && !chains_side_by_side(chains, table.sites, current_device())) {
    return sweep_colours(TableSites{table, colouring}, table.constant, chains, steps, rng,
                         chain_ids, x, energy, counts, scratch, stream);
  }
  ISINGLASS_LAUNCH(table_sweep_kernel, table_launch(chains, table.sites, colouring.colours), stream,
                   table, colouring, chains, steps, rng, chain_ids, x, energy, counts);
}

}  // namespace isinglass::cuda
