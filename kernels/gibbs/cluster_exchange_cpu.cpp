// Implements cluster_exchange.h on the CPU: a thread walks through the cluster of a pair.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/threads_cpu.h"
#include "kernels/gibbs/cluster_exchange.h"

namespace isinglass::cpu {
namespace {

// Lists the cluster of the site in queue [D] and returns the number of its sites. mark [D] is 0 and
// becomes 1 at these sites.
int64_t find_cluster(const Lattice& lattice, const uint8_t* x, const uint8_t* y, int64_t site,
                     int32_t* queue, int32_t* mark) {
  int64_t end = 0;
  queue[end++] = static_cast<int32_t>(site);
  mark[site] = 1;
  for (int64_t q = 0; q < end; ++q) {
    for (int64_t n = lattice.offset[queue[q]]; n < lattice.offset[queue[q] + 1]; ++n) {
      const int32_t j = lattice.neighbour[n];
      if (x[j] == y[j] || mark[j]) continue;
      mark[j] = 1;
      queue[end++] = j;
    }
  }
  return end;
}

void exchange(const Lattice& lattice, int64_t start, uint8_t* x, uint8_t* y, double& of_x,
              double& of_y, int32_t* work) {
  const int64_t sites = lattice.sites;
  int64_t site = std::mismatch(x + start, x + sites, y + start).first - x;
  if (site == sites) site = std::mismatch(x, x + start, y).first - x;
  if (x[site] == y[site]) return;
  int32_t *const queue = work, *const mark = work + sites;
  std::fill_n(mark, sites, 0);
  const int64_t count = find_cluster(lattice, x, y, site, queue, mark);
  double difference = 0;
  for (int64_t q = 0; q < count; ++q) difference += exchange_share(lattice, x, y, queue[q]);
  if (!std::isfinite(difference)) return;
  for (int64_t q = 0; q < count; ++q) std::swap(x[queue[q]], y[queue[q]]);
  of_x += difference;
  of_y -= difference;
}

}  // namespace

void exchange_clusters(const Lattice& lattice, int64_t chains, int64_t group, const int64_t* rng,
                       const int64_t* chain_ids, const double* beta, uint8_t* x, double* energy,
                       int32_t* work, Stream) {
  if (!exchanges_now(rng)) return;
  const int64_t pairs = chains / group * (group / 2), sites = lattice.sites;
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, chains * sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t p = 0; p < pairs; ++p) {
    const ChainPair pair = chain_pair(group, p, rng);
    const auto [a, b] = pair;
    if (a == b || (beta && beta[a] != beta[b])) continue;
    exchange(lattice, search_start(lattice, rng, chain_ids, pair), x + a * sites, x + b * sites,
             energy[a], energy[b], work + p * 2 * sites);
  }
}

}  // namespace isinglass::cpu
