// Performs whole steps of a path sampler on a sparse graph (CUDA version of lattice_path.h), many
// steps per launch.
//
// Regime: one warp per chain, from the first step to the last; a block has 1, 2 or 4 chains. Shared
// memory holds y, its table and the sums of its weights: 6 bytes per binary site, 3 if gradients
// are looked up in neighbourhood tables, and 2 + 4K for K values. The lanes share the sites of a
// block and the neighbours of a site; computations that depend on the previous move are repeated by
// all lanes. It is used if a chain fits into shared memory (lattice_path_fits()). Otherwise steps
// are dense: they take first_order_path.cu or exact_path.cu, an evaluation of the model and
// metropolis.cu.
#include "kernels/base/launch.h"
#include "kernels/lattice/fast/table_cuda.h"
#include "kernels/path/fast/lattice_path.h"
#include "kernels/path/path_moves.h"
#include "kernels/path/weight_sums_cuda.h"
#include "kernels/random/path_length.h"

namespace isinglass::cuda {
namespace {

// Gives the same log weights as BinaryGradient, with gradients looked up in a neighbourhood table.
struct TabulatedGradient {
  const uint8_t* neighbourhood;  // [D]
  const float* gradient;         // [D, 16]
  Balancing balancing;
  float beta;

  ISINGLASS_HD double log_weight(int64_t site, int from, int to) const {
    const float own = gradient[site * kNeighbourhoods + neighbourhood[site]];
    return BinaryGradient{&own, balancing, beta}.log_weight(0, from, to);
  }
};
using TabulatedGradientWeights = FlipWeights<TabulatedGradient>;

// Holds a chain's table in shared memory as the numbers from which the weights are computed.
template <class Weights, LocalTable kTable>
struct ChainTable {
  using Entry = float;
  Entry* entry;  // [D] or [D, K]

  __device__ Weights weights(const LatticePathStep& step, double beta) const {
    return weights_of<Weights>(step.shape, entry, beta);
  }
  __device__ void load(const LatticePathStep& step, const float* kept, const uint8_t*) const {
    for (int64_t i = threadIdx.x % kWarp; i < step.shape.table_size(); i += kWarp) {
      entry[i] = kept[i];
    }
  }
  __device__ void recompute(const LatticePathStep& step, const uint8_t* y, int64_t site) const {
    local_table(step.lattice, y, site, step.shape.one_hot, kTable, entry);
  }
  __device__ void store(const LatticePathStep& step, float* kept) const {
    for (int64_t i = threadIdx.x % kWarp; i < step.shape.table_size(); i += kWarp) {
      kept[i] = entry[i];
    }
  }
};

// Holds a chain's neighbourhoods in place of gradients.
template <LocalTable kTable>
struct ChainTable<TabulatedGradientWeights, kTable> {
  using Entry = uint8_t;
  Entry* entry;  // [D]

  __device__ TabulatedGradientWeights weights(const LatticePathStep& step, double beta) const {
    return {{entry, step.neighbourhoods.gradient, step.shape.balancing, static_cast<float>(beta)}};
  }
  __device__ void load(const LatticePathStep& step, const float*, const uint8_t* y) const {
    for (int64_t i = threadIdx.x % kWarp; i < step.shape.sites; i += kWarp) recompute(step, y, i);
  }
  __device__ void recompute(const LatticePathStep& step, const uint8_t* y, int64_t site) const {
    entry[site] = static_cast<uint8_t>(neighbourhood_at(step.neighbourhoods, y, site));
  }
  __device__ void store(const LatticePathStep& step, float* kept) const {
    for (int64_t i = threadIdx.x % kWarp; i < step.shape.sites; i += kWarp) {
      kept[i] = step.neighbourhoods.gradient[i * kNeighbourhoods + entry[i]];
    }
  }
};

template <class Weights, LocalTable kTable>
class LatticeChain {
 public:
  __device__ LatticeChain(const LatticePathStep& step, WeightSums<Weights> sums,
                          ChainTable<Weights, kTable> table, uint8_t* y, int64_t chain)
      : step_(step),
        chain_(chain),
        lane_(threadIdx.x % kWarp),
        rule_(kExact ? PathRule::kLinearised : step.shape.rule),
        sums_(sums),
        table_(table),
        y_(y),
        energy_(step.energy[chain]) {}

  __device__ void run() {
    sums_.build();
    for (int64_t t = 0; t < step_.steps; ++t) take_step(t);
    if (lane_ == 0) step_.energy[chain_] = energy_;
  }

 private:
  static constexpr bool kExact = kTable == LocalTable::kDifferences;

  struct LogQ {
    double forward, backward;
  };

  __device__ uint8_t* x() const { return step_.x + chain_ * step_.shape.sites; }

  __device__ void take_step(int64_t t) {
    const PhiloxStream draws = step_draws(step_.rng, step_.chain_ids[chain_], t);
    const int64_t most = step_.shape.max_length, chains = step_.shape.chains;
    path_ = path_of_chain(step_.paths, chain_, draw_path_length(draws, step_.radius[chain_], most),
                          most);
    if (lane_ == 0) step_.paths.length[t * chains + chain_] = static_cast<int32_t>(path_.length);
    const LogQ log_q = draw_and_score(draws);
    const double proposed = energy_ + path_difference(step_.lattice, path_, y_, sums_);
    const Verdict verdict = path_verdict(beta_of(step_, chain_), energy_, proposed, log_q.forward,
                                         log_q.backward, draws.uniform(Purpose::kAccept));
    if (verdict.accept) energy_ = proposed;
    const int64_t hops = verdict.accept ? take() : reject();
    if (lane_ == 0) count_verdict(step_.counts, chain_, verdict, hops);
    if ((draws.step + draws.chain) % kRefreshEvery == 0) recompute_energy();
  }

  __device__ LogQ draw_and_score(const PhiloxStream& draws) {
    if constexpr (kExact) {
      return exact_path(draws);
    } else {
      return first_order_path(draws);
    }
  }

  __device__ LogQ first_order_path(const PhiloxStream& draws) {
    sums_.set_values(weighed_values(rule_, x(), y_));
    const double forward = draw_path_of_chain(rule_, sums_, draws, x(), y_, path_);
    sums_.set_values(y_);
    refresh_tables();
    return {forward, score_path_of_chain(rule_, sums_, y_, path_)};
  }

  __device__ LogQ exact_path(const PhiloxStream& draws) {
    PathLogQ forward, backward;
    for (int64_t l = 0; l < path_.length; ++l) {
      const TreePosition position = sums_.locate(sums_.site_uniform(draws, l));
      const Move move = make_move(rule_, sums_, position, draws, x(), y_, path_, l, forward);
      recompute_around(move.site);
      __syncwarp();
      refresh_around(move.site);
      total();
      backward.move(sums_.weights().log_weight(move.site, move.to, move.from), sums_.scale(),
                    sums_.sum());
    }
    return {forward.total(), backward.total()};
  }

  // Updates the table and the sums at the sites of the path and around them. Several lanes may
  // write the entry of a site that is a neighbour of two moves at once; they write the same number,
  // computed from the same y.
  __device__ void refresh_tables() {
    restore_pool();
    for (int64_t l = 0; l < path_.length; ++l) recompute_around(path_.site[l]);
    __syncwarp();
    for (int64_t l = 0; l < path_.length; ++l) refresh_around(path_.site[l]);
    total();
  }

  // Returns the path's sites to the pool.
  __device__ void restore_pool() {
    __syncwarp();
    if (sums_.removed().word && lane_ == 0) {
      for (int64_t l = 0; l < path_.length; ++l) {
        sums_.removed().word[path_.site[l] / kBlockSites] = 0;
      }
    }
    __syncwarp();
  }

  __device__ void recompute_around(int64_t site) {
    const Lattice& lattice = step_.lattice;
    if (kExact && lane_ == 0) recompute(site);
    for (int64_t n = lattice.offset[site] + lane_; n < lattice.offset[site + 1]; n += kWarp) {
      recompute(lattice.neighbour[n]);
    }
  }

  __device__ void recompute(int64_t site) { table_.recompute(step_, y_, site); }

  // Recomputes the sums of the blocks of the site (lane 0) and of its neighbours (the other lanes).
  __device__ void refresh_around(int64_t site) {
    const int64_t first = step_.lattice.offset[site], end = step_.lattice.offset[site + 1];
    int64_t n = first + lane_ - 1;
    do {
      const bool neighbour = lane_ > 0 && n < end;
      refresh_distinct((neighbour ? step_.lattice.neighbour[n] : site) / kBlockSites);
      n += kWarp - 1;
    } while (n - lane_ + 1 < end);
  }

  // Recomputes the sum of every lane's block, once if several lanes have the same one.
  __device__ void refresh_distinct(int64_t block) {
    unsigned left = 0xffffffffu;
    while (left != 0) {
      const int64_t next = __shfl_sync(0xffffffffu, block, __ffs(static_cast<int>(left)) - 1);
      left &= ~__ballot_sync(0xffffffffu, block == next);
      sums_.refresh(next);
    }
  }

  __device__ void total() {
    __syncwarp();
    sums_.total();
    __syncwarp();
  }

  // Copies y to x along the path. Returns the number of sites changed, to the first lane.
  __device__ int64_t take() {
    const int64_t hops = lane_ == 0 ? take_path(path_, x(), y_) : 0;
    restore_pool();
    // Scoring has moved or removed the path's sites.
    if (!kExact && rule_ != PathRule::kFrozen) refresh_path();
    return hops;
  }

  __device__ void refresh_path() {
    for (int64_t l = 0; l < path_.length; ++l) {
      sums_.refresh(path_.site[l] / kBlockSites);
    }
    total();
  }

  // Copies x to y along the path. Returns 0.
  __device__ int64_t reject() {
    if (lane_ == 0) undo_path(path_, x(), y_);
    refresh_tables();
    return 0;
  }

  __device__ void recompute_energy() {
    double sum = 0;
    for (int64_t i = lane_; i < step_.shape.sites; i += kWarp) {
      sum += site_energy(step_.lattice, y_, i);
    }
    energy_ = step_.lattice.constant + warp_sum(sum);
  }

  const LatticePathStep& step_;
  int64_t chain_;
  unsigned lane_;
  PathRule rule_;
  WeightSums<Weights> sums_;
  ChainTable<Weights, kTable> table_;
  uint8_t* y_;
  Path path_ = {};
  double energy_;
};

// Returns the shared memory of a chain [bytes], for its sums, a table of `table` bytes and y.
ISINGLASS_HD inline int64_t chain_bytes(int64_t sites, int64_t table) {
  const int64_t bytes = 8 * (kBlockSites + sums_scratch(sites)) + table + sites;
  return (bytes + 7) / 8 * 8;
}

// kMostThreads is the block size of chains_launch(). kTabulatedBlocks is the number of blocks per
// multiprocessor for which the compiler must leave registers; with table look-ups, shared memory
// allows that many. Clang would spill registers with four.
constexpr int kMostThreads = 4 * kWarp;
#ifdef __clang__
constexpr int kTabulatedBlocks = 3;
#else
constexpr int kTabulatedBlocks = 4;
#endif
template <class Weights>
constexpr int kBlocksOf = std::is_same_v<Weights, TabulatedGradientWeights> ? kTabulatedBlocks : 1;

template <class Table>
ISINGLASS_HD int64_t chain_bytes_of(const PathShape& shape) {
  return chain_bytes(shape.sites,
                     shape.table_size() * static_cast<int64_t>(sizeof(typename Table::Entry)));
}

template <LocalTable kTable, class Weights>
__global__ void __launch_bounds__(kMostThreads, kBlocksOf<Weights>)
    lattice_path_kernel(ISINGLASS_GRID_CONSTANT const LatticePathStep step) {
  using Table = ChainTable<Weights, kTable>;
  const PathShape& shape = step.shape;
  const int64_t c = chain_of_warp(), size = shape.table_size(), lane = threadIdx.x % kWarp;
  if (c >= shape.chains) return;
  auto* sums_memory =
      dynamic_shared_memory<double>() + threadIdx.x / kWarp * (chain_bytes_of<Table>(shape) / 8);
  const Table table{reinterpret_cast<typename Table::Entry*>(sums_memory + kBlockSites +
                                                             sums_scratch(shape.sites))};
  auto* y = reinterpret_cast<uint8_t*>(table.entry + size);
  const uint8_t* x = step.x + c * shape.sites;
  float* kept = step.table + c * size;
  for (int64_t i = lane; i < shape.sites; i += kWarp) y[i] = x[i];
  __syncwarp();
  table.load(step, kept, y);
  __syncwarp();
  const auto sums =
      sums_in(sums_memory, sums_memory + kBlockSites, table.weights(step, beta_of(step, c)), y,
              shape.sites, kTable == LocalTable::kGradient && without_replacement(shape.rule));
  LatticeChain<Weights, kTable>(step, sums, table, y, c).run();
  __syncwarp();
  table.store(step, kept);
}

template <LocalTable kTable, class Weights>
void launch_steps(const LatticePathStep& step, Stream stream) {
  const int64_t bytes = chain_bytes_of<ChainTable<Weights, kTable>>(step.shape);
  const LaunchShape launch = chains_launch(step.shape.chains, bytes);
  ISINGLASS_LAUNCH(lattice_path_kernel<kTable, Weights>, launch, stream, step);
}

bool looks_gradients_up(const PathShape& shape, LocalTable what, bool tabulated) {
  return tabulated && what == LocalTable::kGradient && !shape.one_hot;
}

}  // namespace

int64_t lattice_table_bytes(const PathShape& shape, LocalTable what, bool tabulated) {
  if (looks_gradients_up(shape, what, tabulated)) return shape.sites;
  return shape.table_size() * static_cast<int64_t>(sizeof(float));
}

bool lattice_path_fits(int64_t sites, int64_t table_bytes, int device) {
  return chain_bytes(sites, table_bytes) <= shared_memory_limit(device);
}

void lattice_path_step(const LatticePathStep& step, Stream stream) {
  constexpr auto kGradient = LocalTable::kGradient, kDifferences = LocalTable::kDifferences;
  if (looks_gradients_up(step.shape, step.what, step.neighbourhoods.sites > 0)) {
    launch_steps<kGradient, TabulatedGradientWeights>(step, stream);
  } else if (step.what == kGradient && step.shape.one_hot) {
    launch_steps<kGradient, CategoricalGradientWeights>(step, stream);
  } else if (step.what == kGradient) {
    launch_steps<kGradient, BinaryGradientWeights>(step, stream);
  } else if (step.shape.one_hot) {
    launch_steps<kDifferences, ExactValueWeights>(step, stream);
  } else {
    launch_steps<kDifferences, ExactWeights>(step, stream);
  }
}

}  // namespace isinglass::cuda
