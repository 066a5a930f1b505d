// Exchanges clusters between chains (CUDA version of cluster_exchange.h).
//
// Regime: a block of 256 threads serves a pair of chains. It finds the cluster in rounds: the
// threads share the sites that the last round has added, and add those of their neighbours at which
// the chains differ. The list and the marks are in global memory, so that a lattice may have any
// number of sites. Launches in other steps than those of an exchange end at once.
#include <cmath>

#include "kernels/base/launch.h"
#include "kernels/gibbs/cluster_exchange.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr size_t kShared = 2 * sizeof(int32_t);

__global__ void exchange_clusters_kernel(Lattice lattice, int64_t group, const int64_t* rng,
                                         const int64_t* chain_ids, const double* beta, uint8_t* all,
                                         double* energy, int32_t* work) {
  if (!exchanges_now(rng)) return;
  const ChainPair pair = chain_pair(group, blockIdx.x, rng);
  const int64_t a = pair.first, b = pair.second, sites = lattice.sites;
  if (a == b || (beta && beta[a] != beta[b])) return;
  uint8_t *const x = all + a * sites, *const y = all + b * sites;
  int32_t *const queue = work + blockIdx.x * 2 * sites, *const mark = queue + sites;
  auto* const shared = dynamic_shared_memory<int32_t>();
  int32_t& nearest = shared[0];  // D minus the distance from the start to the first such site
  int32_t& end = shared[1];      // of the list
  if (threadIdx.x == 0) nearest = end = 0;
  for (int64_t i = threadIdx.x; i < sites; i += blockDim.x) mark[i] = 0;
  __syncthreads();
  const int64_t start = search_start(lattice, rng, chain_ids, pair);
  for (int64_t i = threadIdx.x; i < sites; i += blockDim.x) {
    const int64_t site = (start + i) % sites;
    if (x[site] == y[site]) continue;
    atomicMax(&nearest, static_cast<int32_t>(sites - i));
    break;
  }
  __syncthreads();
  if (nearest == 0) return;
  if (threadIdx.x == 0) {
    const int64_t site = (start + sites - nearest) % sites;
    queue[0] = static_cast<int32_t>(site);
    mark[site] = 1;
    end = 1;
  }
  __syncthreads();
  for (int32_t begin = 0, round_end = end; begin < round_end;) {
    __syncthreads();
    for (int32_t q = begin + static_cast<int32_t>(threadIdx.x); q < round_end;
         q += static_cast<int32_t>(blockDim.x)) {
      for (int64_t n = lattice.offset[queue[q]]; n < lattice.offset[queue[q] + 1]; ++n) {
        const int32_t j = lattice.neighbour[n];
        if (x[j] != y[j] && atomicAdd(&mark[j], 1) == 0) queue[atomicAdd(&end, 1)] = j;
      }
    }
    __syncthreads();
    begin = round_end;
    round_end = end;
  }
  double share = 0;
  for (int64_t i = threadIdx.x; i < sites; i += blockDim.x) {
    if (mark[i]) share += exchange_share(lattice, x, y, i);
  }
  const double difference = block_sum(share);
  if (!std::isfinite(difference)) return;
  for (int64_t i = threadIdx.x; i < sites; i += blockDim.x) {
    if (!mark[i]) continue;
    const uint8_t value = x[i];
    x[i] = y[i];
    y[i] = value;
  }
  if (threadIdx.x != 0) return;
  energy[a] += difference;
  energy[b] -= difference;
}

}  // namespace

void exchange_clusters(const Lattice& lattice, int64_t chains, int64_t group, const int64_t* rng,
                       const int64_t* chain_ids, const double* beta, uint8_t* x, double* energy,
                       int32_t* work, Stream stream) {
  const int64_t pairs = chains / group * (group / 2);
  if (pairs == 0) return;
  ISINGLASS_LAUNCH(exchange_clusters_kernel, {static_cast<unsigned>(pairs), kThreads, kShared},
                   stream, lattice, group, rng, chain_ids, beta, x, energy, work);
}

}  // namespace isinglass::cuda
