// CUDA twin of lattice_path.h: one warp per chain, from the first step to the last. y, its table and
// the sums of its weights stay in shared memory: 6 bytes a binary site, 2 + 4K of K values. The
// lanes share the sites of a block and the neighbours of a site; what depends on the move before,
// they all do.
#include "kernels/path/fast/lattice_path.h"
#include "kernels/path/path_moves_cuda.h"
#include "kernels/path/path_length.h"

namespace isinglass::cuda {
namespace {

constexpr unsigned kWarp = 32;

template <class Rows, SiteTable kTable>
class LocalChain {
 public:
  __device__ LocalChain(const LocalPathStep& step, SiteSums<Rows> sums, float* table, uint8_t* y,
                        int64_t chain)
      : step_(step),
        chain_(chain),
        lane_(threadIdx.x),
        rule_(kExact ? PathRule::kLinearised : step.shape.rule),
        sums_(sums),
        table_(table),
        x_(step.x + chain * step.shape.sites),
        y_(y),
        energy_(step.energy[chain]),
        counts_(step.counts, chain) {}

  __device__ void run() {
    for (int64_t b = 0; b < site_blocks(step_.shape.sites); ++b) sums_.refresh(b, lane_);
    settle();
    for (int64_t t = 0; t < step_.steps; ++t) take_step(t);
    if (lane_ > 0) return;
    step_.energy[chain_] = energy_;
    counts_.store(step_.counts, chain_);
  }

 private:
  static constexpr bool kExact = kTable == SiteTable::kDifferences;

  struct LogQ {
    double forward, backward;
  };

  __device__ void take_step(int64_t t) {
    const Draws draws = step_draws(step_.rng, step_.chain_ids[chain_], t);
    const int64_t most = step_.shape.max_length, chains = step_.shape.chains;
    path_ = path_of_chain(step_.paths, chain_, draw_path_length(draws, *step_.radius, most), most);
    if (lane_ == 0) step_.paths.length[t * chains + chain_] = static_cast<int32_t>(path_.length);
    const LogQ log_q = draw_and_score(draws);
    const double proposed = energy_ + path_difference();
    const ProposalScores scores{&energy_, &proposed, &log_q.forward, &log_q.backward};
    const Verdict verdict = metropolis(scores, 0, draws.uniform(Purpose::kAccept));
    if (verdict.accept) energy_ = proposed;
    count_verdict(counts_.pointers(), 0, verdict, verdict.accept ? take() : reject());
    if ((draws.step + draws.chain) % kRenewal == 0) renew_energy();
  }

  __device__ LogQ draw_and_score(const Draws& draws) {
    if constexpr (kExact) {
      return exact_path(draws);
    } else {
      return first_order_path(draws);
    }
  }

  __device__ LogQ first_order_path(const Draws& draws) {
    sums_.values = weighed_values(rule_, x_, y_);
    const double forward = draw_along(rule_, sums_, draws, y_, path_, lane_);
    sums_.values = y_;
    follow_path();
    return {forward, score_along(rule_, sums_, y_, path_, lane_)};
  }

  __device__ LogQ exact_path(const Draws& draws) {
    const Rows& rows = sums_.rows;
    PathLogQ forward, backward;
    for (int64_t l = 0; l < path_.length; ++l) {
      const int64_t site = sums_.draw_site(draws.uniform(Purpose::kSite, l), lane_);
      const int from = y_[site];
      const int to = rows.draw_value(site, from, draws.uniform(Purpose::kValue, l));
      forward.move(rows.log_weight(site, from, to), sums_.scale, sums_.sum());
      __syncwarp();
      if (lane_ == 0) {
        path_.site[l] = static_cast<int32_t>(site);
        path_.from[l] = static_cast<uint8_t>(from);
        path_.to[l] = static_cast<uint8_t>(to);
        y_[site] = static_cast<uint8_t>(to);
      }
      __syncwarp();
      renew_around(site);
      __syncwarp();
      refresh_around(site);
      settle();
      backward.move(rows.log_weight(site, to, from), sums_.scale, sums_.sum());
    }
    return {forward.total(), backward.total()};
  }

  // The table and the sums where y's values have changed along the path. Lanes may write an entry
  // of the table for two moves at once, a neighbour of both: the same number, of the same y.
  __device__ __noinline__ void follow_path() {
    restore_pool();
    for (int64_t l = 0; l < path_.length; ++l) renew_around(path_.site[l]);
    __syncwarp();
    for (int64_t l = 0; l < path_.length; ++l) refresh_around(path_.site[l]);
    settle();
  }

  // The path's sites return to the pool.
  __device__ void restore_pool() {
    __syncwarp();
    if (sums_.removed.word && lane_ == 0) {
      for (int64_t l = 0; l < path_.length; ++l) {
        sums_.removed.word[path_.site[l] / kBlockSites] = 0;
      }
    }
    __syncwarp();
  }

  __device__ void renew_around(int64_t site) {
    const Lattice& lattice = step_.lattice;
    if (kExact && lane_ == 0) renew(site);
    for (int64_t n = lattice.offset[site] + lane_; n < lattice.offset[site + 1]; n += kWarp) {
      renew(lattice.neighbour[n]);
    }
  }

  __device__ void renew(int64_t site) {
    site_table(step_.lattice, y_, site, step_.shape.one_hot, kTable, table_);
  }

  // The sums of the blocks of the site (lane 0) and of its neighbours.
  __device__ void refresh_around(int64_t site) {
    const int64_t first = step_.lattice.offset[site], end = step_.lattice.offset[site + 1];
    int64_t n = first + lane_ - 1;
    do {
      const bool neighbour = lane_ > 0 && n < end;
      refresh_distinct((neighbour ? step_.lattice.neighbour[n] : site) / kBlockSites);
      n += kWarp - 1;
    } while (n - lane_ + 1 < end);
  }

  // Every lane's block, those of several lanes once.
  __device__ void refresh_distinct(int64_t block) {
    unsigned left = 0xffffffffu;
    while (left != 0) {
      const int64_t next = __shfl_sync(0xffffffffu, block, __ffs(static_cast<int>(left)) - 1);
      left &= ~__ballot_sync(0xffffffffu, block == next);
      sums_.refresh(next, lane_);
    }
  }

  __device__ void settle() {
    __syncwarp();
    sums_.total(lane_);
    __syncwarp();
  }

  // U(y) − U(x), one move after the other; y is walked back and restored.
  __device__ double path_difference() {
    double difference = 0;
    for (int64_t l = path_.length; l-- > 0;) {
      const int from = path_.from[l], to = path_.to[l];
      if (from == to) continue;
      const int64_t site = path_.site[l];
      difference +=
          local_energy(step_.lattice, y_, site, to) - local_energy(step_.lattice, y_, site, from);
      __syncwarp();
      if (lane_ == 0) y_[site] = static_cast<uint8_t>(from);
      __syncwarp();
    }
    if (lane_ == 0) {
      for (int64_t l = 0; l < path_.length; ++l) {
        if (path_.from[l] != path_.to[l]) y_[path_.site[l]] = path_.to[l];
      }
    }
    __syncwarp();
    return difference;
  }

  // x becomes y. Returns the hops, to the first lane.
  __device__ int64_t take() {
    int64_t hops = 0;
    if (lane_ == 0) {
      for (int64_t l = 0; l < path_.length; ++l) {
        const int64_t site = path_.site[l];
        hops += x_[site] != y_[site];
        x_[site] = y_[site];
      }
    }
    restore_pool();
    if (!kExact && rule_ != PathRule::kFrozen) refresh_path();  // scoring has moved or removed them
    return hops;
  }

  __device__ void refresh_path() {
    for (int64_t l = 0; l < path_.length; ++l) {
      sums_.refresh(path_.site[l] / kBlockSites, lane_);
    }
    settle();
  }

  // y becomes x.
  __device__ int64_t reject() {
    if (lane_ == 0) {
      for (int64_t l = 0; l < path_.length; ++l) y_[path_.site[l]] = x_[path_.site[l]];
    }
    follow_path();
    return 0;
  }

  __device__ void renew_energy() {
    double sum = 0;
    for (int64_t i = lane_; i < step_.shape.sites; i += kWarp) {
      sum += site_energy(step_.lattice, y_, i);
    }
    energy_ = step_.lattice.constant + warp_sum(sum);
  }

  const LocalPathStep& step_;
  int64_t chain_;
  unsigned lane_;
  PathRule rule_;
  SiteSums<Rows> sums_;
  float* table_;
  uint8_t *x_, *y_;
  Path path_ = {};
  double energy_;
  ChainCounts counts_;
};

template <SiteTable kTable, class Rows>
__device__ void run_chain(const LocalPathStep& step, Rows rows, double* sums_memory, float* table,
                          uint8_t* y) {
  const auto sums = sums_in(sums_memory, sums_memory + kBlockSites, rows, y, step.shape.sites,
                            kTable == SiteTable::kGradient && without_replacement(step.shape.rule));
  LocalChain<Rows, kTable>(step, sums, table, y, blockIdx.x).run();
}

__global__ void local_path_kernel(LocalPathStep step) {
  const PathShape& shape = step.shape;
  const int64_t c = blockIdx.x, size = shape.table_size();
  auto* sums_memory = dynamic_shared_memory<double>();
  auto* table = reinterpret_cast<float*>(sums_memory + kBlockSites + sums_scratch(shape.sites));
  auto* y = reinterpret_cast<uint8_t*>(table + size);
  const uint8_t* x = step.x + c * shape.sites;
  float* kept = step.table + c * size;
  for (int64_t i = threadIdx.x; i < size; i += kWarp) table[i] = kept[i];
  for (int64_t i = threadIdx.x; i < shape.sites; i += kWarp) y[i] = x[i];
  __syncwarp();
  const Balancing g = shape.balancing;
  const int values = shape.categories;
  constexpr auto kGradient = SiteTable::kGradient, kDifferences = SiteTable::kDifferences;
  if (step.what == kGradient && shape.one_hot) {
    run_chain<kGradient>(step, OneHotRows{{table, g, values}}, sums_memory, table, y);
  } else if (step.what == kGradient) {
    run_chain<kGradient>(step, BinaryRows{table, g}, sums_memory, table, y);
  } else if (shape.one_hot) {
    using Rows = ValueRows<OneHotDifferences>;
    run_chain<kDifferences>(step, Rows{{table, g, values}}, sums_memory, table, y);
  } else {
    run_chain<kDifferences>(step, DifferenceRows{table, g}, sums_memory, table, y);
  }
  __syncwarp();
  for (int64_t i = threadIdx.x; i < size; i += kWarp) kept[i] = table[i];
}

int64_t shared_bytes(int64_t sites, int64_t table) {
  return 8 * (kBlockSites + sums_scratch(sites)) + 4 * table + sites;
}

}  // namespace

bool local_path_fits(int64_t sites, int64_t table, int device) {
  return shared_bytes(sites, table) <= shared_memory_limit(device);
}

void local_path_step(const LocalPathStep& step, Stream stream) {
  const int64_t bytes = shared_bytes(step.shape.sites, step.shape.table_size());
  const LaunchShape launch{static_cast<unsigned>(step.shape.chains), kWarp,
                           static_cast<size_t>(bytes)};
  ISINGLASS_LAUNCH(local_path_kernel, launch, stream, step);
}

}  // namespace isinglass::cuda
