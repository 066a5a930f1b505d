// Performs the parts of a one-site Gibbs step (CUDA version of one_site.h).
//
// Regime: one thread per chain, in blocks of 128, except for one_site_neighbours, where a block of
// 128 threads copies each neighbour state. No kernel uses shared memory. It serves models whose
// energies are evaluated between the parts, and reversed systematic scans of lattices; other
// lattice scans take many steps per launch in lattice_gibbs.cu.
#include "kernels/base/launch.h"
#include "kernels/gibbs/one_site.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 128;

LaunchShape thread_per_chain(int64_t chains) {
  return {static_cast<unsigned>((chains + kThreads - 1) / kThreads), kThreads};
}

__device__ int64_t chain_of_thread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__global__ void choose_sites_kernel(int64_t chains, int64_t sites, bool systematic,
                                    const int64_t* rng, const int64_t* chain_ids, int64_t* site) {
  const int64_t c = chain_of_thread();
  if (c < chains) site[c] = choose_site(sites, systematic, rng, chain_ids[c]);
}

__global__ void one_site_neighbours_kernel(int64_t sites, int categories, const uint8_t* x,
                                           const int64_t* site, uint8_t* neighbours) {
  const int64_t c = blockIdx.x / (categories - 1);
  const int n = static_cast<int>(blockIdx.x % (categories - 1));
  uint8_t* y = neighbours + static_cast<int64_t>(blockIdx.x) * sites;
  for (int64_t i = threadIdx.x; i < sites; i += blockDim.x) {
    const uint8_t value = x[c * sites + i];
    y[i] = i == site[c] ? static_cast<uint8_t>(neighbour_value(n, value)) : value;
  }
}

__global__ void neighbour_differences_kernel(int64_t chains, int64_t sites, int categories,
                                             const uint8_t* x, const int64_t* site,
                                             const double* energy, const double* neighbour_energy,
                                             double* difference) {
  const int64_t c = chain_of_thread();
  if (c < chains) {
    chain_differences(c, sites, categories, x, site, energy, neighbour_energy, difference);
  }
}

__global__ void draw_conditionals_kernel(int64_t chains, int64_t sites, int categories,
                                         const double* difference, const int64_t* site,
                                         const int64_t* rng, const int64_t* chain_ids, uint8_t* x,
                                         double* energy, int64_t* choice, StepCounts counts) {
  const int64_t c = chain_of_thread();
  if (c < chains) {
    draw_chain_conditional(c, sites, categories, difference, site, rng, chain_ids, x, energy,
                           choice, counts);
  }
}

}  // namespace

void choose_sites(int64_t chains, int64_t sites, bool systematic, const int64_t* rng,
                  const int64_t* chain_ids, int64_t* site, Stream stream) {
  ISINGLASS_LAUNCH(choose_sites_kernel, thread_per_chain(chains), stream, chains, sites, systematic,
                   rng, chain_ids, site);
}

void one_site_neighbours(int64_t chains, int64_t sites, int categories, const uint8_t* x,
                         const int64_t* site, uint8_t* neighbours, Stream stream) {
  ISINGLASS_LAUNCH(one_site_neighbours_kernel,
                   {static_cast<unsigned>(chains * (categories - 1)), kThreads}, stream, sites,
                   categories, x, site, neighbours);
}

void neighbour_differences(int64_t chains, int64_t sites, int categories, const uint8_t* x,
                           const int64_t* site, const double* energy,
                           const double* neighbour_energy, double* difference, Stream stream) {
  ISINGLASS_LAUNCH(neighbour_differences_kernel, thread_per_chain(chains), stream, chains, sites,
                   categories, x, site, energy, neighbour_energy, difference);
}

void draw_conditionals(int64_t chains, int64_t sites, int categories, const double* difference,
                       const int64_t* site, const int64_t* rng, const int64_t* chain_ids,
                       uint8_t* x, double* energy, int64_t* choice, const StepCounts& counts,
                       Stream stream) {
  ISINGLASS_LAUNCH(draw_conditionals_kernel, thread_per_chain(chains), stream, chains, sites,
                   categories, difference, site, rng, chain_ids, x, energy, choice, counts);
}

}  // namespace isinglass::cuda
