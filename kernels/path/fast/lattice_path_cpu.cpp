// Implements lattice_path.h on the CPU. A thread works on a few chains at a time.
#include <algorithm>
#include <cstring>
#include <optional>

#include "kernels/base/threads_cpu.h"
#include "kernels/path/fast/cached_weight_sums_cpu.h"
#include "kernels/path/fast/lattice_path.h"
#include "kernels/path/path_moves.h"
#include "kernels/random/path_length.h"

namespace isinglass::cpu {
namespace {

// A chain's step touches about this many numbers, for TimedLoop.
constexpr int64_t kNumbersAStep = 512;
constexpr int64_t kTogether = 5;  // This many chains are worked on together.

// Gives local energies of a binary site whose differences are those of the site's.
struct KeptLocalEnergies {
  double flip;  // flip_energy()

  double operator[](int k) const { return k == 0 ? 0 : flip; }
};

// Performs one chain's step in pieces, so that memory prefetched for one chain arrives while the
// thread works on others.
template <class Weights>
class LatticeChain {
 public:
  // Begins the step that is `steps_ahead` after the present one.
  LatticeChain(const LatticePathStep& step, int64_t chain, int64_t steps_ahead)
      : step_(step),
        chain_(chain),
        table_(step.table + chain * step.shape.table_size()),
        x_(step.x + chain * step.shape.sites),
        y_(step.y + chain * step.shape.sites),
        beta_(beta_of(step, chain)),
        draws_(step_draws(step.rng, step.chain_ids[chain], steps_ahead)),
        sums_(weights_of<Weights>(step.shape, table_, beta_), y_, step.shape.sites,
              step.kept + chain * cached_sums_size(step.shape.sites)),
        field_(step.field ? step.field + chain * step.shape.sites : nullptr),
        field_state_(step.field ? step.field_state + chain * step.shape.sites : nullptr) {
    // Something else may have changed the state since the last step.
    if (field_ && std::memcmp(field_state_, y_, step.shape.sites) != 0) build_fields();
    if (step.beta && step.kept_beta[chain] != beta_) {
      sums_.build();
      step.kept_beta[chain] = beta_;
    }
    sums_.prefetch_tree();
    const int64_t length = draw_path_length(draws_, step.radius[chain], step.shape.max_length);
    step.paths.length[steps_ahead * step.shape.chains + chain] = static_cast<int32_t>(length);
    path_ = path_of_chain(step.paths, chain, length, step.shape.max_length);
  }

  int64_t length() const { return path_.length; }

  void locate(int64_t l) { position_ = sums_.locate(draws_.uniform(Purpose::kSite, l)); }

  // For pafs, gwg and nb: draw() makes each move, refresh_tables() then updates the table and the
  // weights at y once, and score() scores each move backwards.
  void draw(int64_t l) {
    draw_path_move(step_.shape.rule, sums_, position_, draws_, x_, y_, path_, l, forward_);
    prefetch_neighbours(path_.site[l]);
  }

  void refresh_tables() {
    for (int64_t l = 0; l < path_.length; ++l) refresh_around(path_.site[l]);
    sums_.flush();
  }

  void score(int64_t l) { score_path_move(step_.shape.rule, sums_, y_, path_, l, backward_); }

  // For lb and pas: makes a move, updates the table and the weights after it, and scores its
  // reverse.
  void draw_and_score(int64_t l) {
    const Move move =
        make_move(PathRule::kLinearised, sums_, position_, draws_, x_, y_, path_, l, forward_);
    refresh_around(move.site);
    sums_.flush();
    backward_.move(sums_.weights().log_weight(move.site, move.to, move.from), sums_.scale(),
                   sums_.sum());
  }

  void decide() {
    const double forward = forward_.total(), backward = backward_.total();
    const double proposed = step_.energy[chain_] +
                            (field_ ? change_ : path_difference(step_.lattice, path_, y_, sums_));
    const Verdict verdict = path_verdict(beta_, step_.energy[chain_], proposed, forward, backward,
                                         draws_.uniform(Purpose::kAccept));
    count_verdict(step_.counts, chain_, verdict, verdict.accept ? take(proposed) : reject());
    if ((draws_.step + draws_.chain) % kRefreshEvery == 0) {
      lattice_evaluate(step_.lattice, 1, x_, step_.shape.one_hot, LocalTable::kGradient,
                       step_.energy + chain_, nullptr, nullptr, nullptr);
    }
  }

 private:
  // Prefetches what refresh_around() reads.
  void prefetch_neighbours(int64_t site) const {
    const Lattice& lattice = step_.lattice;
    const int64_t numbers = step_.shape.one_hot ? lattice.categories : 1;
    for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
      prefetch(table_ + lattice.neighbour[n] * numbers);
      sums_.prefetch_site(lattice.neighbour[n]);
    }
  }

  void refresh_around(int64_t site) {
    const Lattice& lattice = step_.lattice;
    // A site's gradient depends on its neighbours only.
    if (step_.what == LocalTable::kDifferences) recompute(site);
    sums_.invalidate(site);
    if (field_) {
      // Otherwise the neighbours' tables are those of y already.
      if (field_state_[site] != y_[site]) flip_fields(site);
      return;
    }
    for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
      recompute(lattice.neighbour[n]);
      sums_.invalidate(lattice.neighbour[n]);
    }
  }

  void build_fields() {
    for (int64_t i = 0; i < step_.shape.sites; ++i) field_[i] = flip_energy(step_.lattice, y_, i);
    std::memcpy(field_state_, y_, step_.shape.sites);
  }

  // Adds a flip of `site` to the fields, to U(y) − U(x) and to the tables of the neighbours.
  void flip_fields(int64_t site) {
    const Lattice& lattice = step_.lattice;
    const double sign = y_[site] == 0 ? -1 : 1;
    change_ += sign * field_[site];
    field_state_[site] = y_[site];
    for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
      const int64_t j = lattice.neighbour[n];
      field_[j] -= 2 * sign * lattice.coupling[n];
      recompute(j);
      sums_.invalidate(j);
    }
  }

  void recompute(int64_t site) {
    if (field_) {
      write_table(KeptLocalEnergies{field_[site]}, 2, y_[site], false, step_.what, table_ + site);
    } else if (step_.shape.one_hot) {
      local_table<WrittenLocalEnergies>(step_.lattice, y_, site, true, step_.what, table_);
    } else {
      local_table(step_.lattice, y_, site, false, step_.what, table_);
    }
  }

  // Copies y to x along the path. Returns the number of sites changed.
  int64_t take(double energy) {
    step_.energy[chain_] = energy;
    if (step_.what == LocalTable::kGradient && step_.shape.rule != PathRule::kFrozen) {
      // Scoring has changed the weights of these sites.
      for (int64_t l = 1; l < path_.length; ++l) sums_.invalidate(path_.site[l]);
      sums_.flush();
    }
    return take_path(path_, x_, y_);
  }

  // Copies x to y along the path. Returns 0.
  int64_t reject() {
    undo_path(path_, x_, y_);
    refresh_tables();
    return 0;
  }

  const LatticePathStep& step_;
  int64_t chain_;
  float* table_;
  uint8_t *x_, *y_;
  double beta_;
  PhiloxStream draws_;
  CachedWeightSums<Weights> sums_;
  double* field_;  // null, or as in LatticePathStep
  uint8_t* field_state_;
  double change_ = 0;  // U(y) − U(x), with fields
  Path path_ = {};
  TreePosition position_ = {};
  PathLogQ forward_, backward_;
};

// Performs one step of the chains first … end − 1, at most kTogether, one piece of all chains at a
// time.
template <class Weights>
void step_together(const LatticePathStep& step, int64_t first, int64_t end, int64_t steps_ahead) {
  std::optional<LatticeChain<Weights>> chains[kTogether];
  int64_t longest = 0;
  for (int64_t c = first; c < end; ++c) {
    longest = std::max(longest, chains[c - first].emplace(step, c, steps_ahead).length());
  }
  const auto each = [&](int64_t l, auto piece) {
    for (int64_t c = 0; c < end - first; ++c) {
      if (l < chains[c]->length()) piece(*chains[c]);
    }
  };
  const bool exact = step.what == LocalTable::kDifferences;
  for (int64_t l = 0; l < longest; ++l) {
    each(l, [l](auto& chain) { chain.locate(l); });
    each(l, [l, exact](auto& chain) { exact ? chain.draw_and_score(l) : chain.draw(l); });
  }
  if (!exact) {
    each(0, [](auto& chain) { chain.refresh_tables(); });
    for (int64_t l = longest; l-- > 0;) each(l, [l](auto& chain) { chain.score(l); });
  }
  each(0, [](auto& chain) { chain.decide(); });
}

template <class Weights>
void cache_chain(const PathShape& shape, const uint8_t* x, const float* table, double* kept,
                 int64_t c) {
  CachedWeightSums(weights_of<Weights>(shape, table + c * shape.table_size(), 1),
                   x + c * shape.sites, shape.sites, kept + c * cached_sums_size(shape.sites))
      .build();
}

// step_binary() and step_flips() are compiled for every instruction set, with all functions that a
// step calls inlined.
ISINGLASS_FLAT_CLONES void step_binary(const LatticePathStep& step, int64_t first, int64_t end,
                                       int64_t steps_ahead) {
  step_together<BinaryGradientWeights>(step, first, end, steps_ahead);
}
ISINGLASS_FLAT_CLONES void step_flips(const LatticePathStep& step, int64_t first, int64_t end,
                                      int64_t steps_ahead) {
  step_together<ExactWeights>(step, first, end, steps_ahead);
}

// Holds the functions that are compiled for one kind of weights.
struct Chains {
  void (*step)(const LatticePathStep&, int64_t first, int64_t end, int64_t steps_ahead);
  void (*keep)(const PathShape&, const uint8_t* x, const float* table, double* kept, int64_t c);
};

Chains chains_of(const PathShape& shape, LocalTable what) {
  if (what == LocalTable::kGradient) {
    return shape.one_hot ? Chains{step_together<CategoricalGradientWeights>,
                                  cache_chain<CategoricalGradientWeights>}
                         : Chains{step_binary, cache_chain<BinaryGradientWeights>};
  }
  return shape.one_hot ? Chains{step_together<ExactValueWeights>, cache_chain<ExactValueWeights>}
                       : Chains{step_flips, cache_chain<ExactWeights>};
}

}  // namespace

int64_t cached_weights(int64_t sites) {
  return cached_sums_size(sites);
}

void cache_weights(const PathShape& shape, LocalTable what, const uint8_t* x, const float* table,
                   double* kept, Stream) {
  const Chains chains = chains_of(shape, what);
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, shape.chains * shape.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < shape.chains; ++c) chains.keep(shape, x, table, kept, c);
}

void lattice_path_step(const LatticePathStep& step, Stream) {
  const int64_t count = step.shape.chains;
  const Chains chains = chains_of(step.shape, step.what);
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, step.steps * count * kNumbersAStep);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < count; c += kTogether) {
    const int64_t end = std::min(count, c + kTogether);
    for (int64_t t = 0; t < step.steps; ++t) chains.step(step, c, end, t);
  }
}

}  // namespace isinglass::cpu
