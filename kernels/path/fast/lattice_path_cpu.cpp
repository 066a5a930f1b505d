// See lattice_path.h: a thread works on a few chains at a time.
#include <algorithm>
#include <optional>
#include <type_traits>

#include "kernels/path/fast/cached_weight_sums_cpu.h"
#include "kernels/path/fast/lattice_path.h"
#include "kernels/path/path_moves.h"
#include "kernels/path/path_length.h"

namespace isinglass::cpu {
namespace {

constexpr int64_t kNumbersAStep = 512;  // that one chain's step touches, for worth_threads
constexpr int64_t kTogether = 5;        // chains

template <class Rows>
Rows rows_of(const PathShape& shape, const float* table) {
  if constexpr (std::is_base_of_v<OneHotGradient, Rows> ||
                std::is_base_of_v<OneHotDifferences, Rows>) {
    return {{table, shape.balancing, shape.categories}};
  } else {
    return {table, shape.balancing};
  }
}

// One chain's part of a step, in pieces: the memory that one chain waits for arrives while others
// work.
template <class Rows>
class LocalChain {
 public:
  // `later`: of the step that many after the present one.
  LocalChain(const LocalPathStep& step, int64_t chain, int64_t later)
      : step_(step),
        chain_(chain),
        table_(step.table + chain * step.shape.table_size()),
        rows_(rows_of<Rows>(step.shape, table_)),
        x_(step.x + chain * step.shape.sites),
        y_(step.y + chain * step.shape.sites),
        draws_(step_draws(step.rng, step.chain_ids[chain], later)),
        sums_(rows_, y_, step.shape.sites, step.kept + chain * kept_sums_size(step.shape.sites)) {
    sums_.prefetch_tree();
    const int64_t length = draw_path_length(draws_, *step.radius, step.shape.max_length);
    step.paths.length[later * step.shape.chains + chain] = static_cast<int32_t>(length);
    path_ = path_of_chain(step.paths, chain, length, step.shape.max_length);
  }

  int64_t length() const { return path_.length; }

  void aim(int64_t l) { aim_ = sums_.aim(draws_.uniform(Purpose::kSite, l)); }

  // pafs, gwg, nb: a move, then once the table and the weights at y, then the moves backwards.
  void draw(int64_t l) {
    draw_move(step_.shape.rule, rows_, sums_, aim_, draws_, x_, y_, path_, l, forward_);
    prefetch_neighbours(path_.site[l]);
  }

  void follow_path() {
    for (int64_t l = 0; l < path_.length; ++l) follow_site(path_.site[l]);
    sums_.settle();
  }

  void score(int64_t l) {
    score_move(step_.shape.rule, rows_, sums_, y_, path_, l, backward_);
    if (l == 0) restore_scored(step_.shape.rule, y_, path_);
  }

  // lb, pas: a move, the table and the weights behind it, and its reverse.
  void draw_and_score(int64_t l) {
    const int64_t site = sums_.draw_site(aim_);
    const int from = y_[site];
    const int to = rows_.draw_value(site, from, draws_.uniform(Purpose::kValue, l));
    forward_.move(rows_.log_weight(site, from, to), sums_.scale(), sums_.sum());
    path_.site[l] = static_cast<int32_t>(site);
    path_.from[l] = static_cast<uint8_t>(from);
    path_.to[l] = static_cast<uint8_t>(to);
    y_[site] = static_cast<uint8_t>(to);
    follow_site(site);
    sums_.settle();
    backward_.move(rows_.log_weight(site, to, from), sums_.scale(), sums_.sum());
  }

  void decide() {
    const double forward = forward_.total(), backward = backward_.total();
    const double proposed = step_.energy[chain_] + path_difference();
    const ProposalScores scores{step_.energy + chain_, &proposed, &forward, &backward};
    const Verdict verdict = metropolis(scores, 0, draws_.uniform(Purpose::kAccept));
    count_verdict(step_.counts, chain_, verdict, verdict.accept ? take(proposed) : reject());
    if ((draws_.step + draws_.chain) % kRenewal == 0) {
      lattice_evaluate(step_.lattice, 1, x_, step_.shape.one_hot, SiteTable::kGradient,
                       step_.energy + chain_, nullptr, nullptr);
    }
  }

 private:
  // What follow_site() reads.
  void prefetch_neighbours(int64_t site) const {
    const Lattice& lattice = step_.lattice;
    const int64_t numbers = step_.shape.one_hot ? lattice.categories : 1;
    for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
      prefetch(table_ + lattice.neighbour[n] * numbers);
      sums_.prefetch_site(lattice.neighbour[n]);
    }
  }

  void follow_site(int64_t site) {
    const Lattice& lattice = step_.lattice;
    if (step_.what == SiteTable::kDifferences) renew(site);  // its gradient is its neighbours'
    sums_.set(site);
    for (int64_t n = lattice.offset[site]; n < lattice.offset[site + 1]; ++n) {
      renew(lattice.neighbour[n]);
      sums_.set(lattice.neighbour[n]);
    }
  }

  void renew(int64_t site) {
    site_table(step_.lattice, y_, site, step_.shape.one_hot, step_.what, table_);
  }

  // U(y) − U(x), one move after the other; y is walked back and restored.
  double path_difference() {
    double difference = 0;
    for (int64_t l = path_.length; l-- > 0;) {
      const int from = path_.from[l], to = path_.to[l];
      if (from == to) continue;
      const int64_t site = path_.site[l];
      difference +=
          local_energy(step_.lattice, y_, site, to) - local_energy(step_.lattice, y_, site, from);
      y_[site] = static_cast<uint8_t>(from);
    }
    for (int64_t l = 0; l < path_.length; ++l) {
      if (path_.from[l] != path_.to[l]) y_[path_.site[l]] = path_.to[l];
    }
    return difference;
  }

  // x becomes y. Returns the hops.
  int64_t take(double energy) {
    step_.energy[chain_] = energy;
    int64_t hops = 0;
    for (int64_t l = 0; l < path_.length; ++l) {
      const int64_t site = path_.site[l];
      hops += x_[site] != y_[site];
      x_[site] = y_[site];
    }
    if (step_.what == SiteTable::kGradient && step_.shape.rule != PathRule::kFrozen) {
      for (int64_t l = 1; l < path_.length; ++l) sums_.set(path_.site[l]);  // scored backwards
      sums_.settle();
    }
    return hops;
  }

  // y becomes x.
  int64_t reject() {
    for (int64_t l = 0; l < path_.length; ++l) y_[path_.site[l]] = x_[path_.site[l]];
    follow_path();
    return 0;
  }

  const LocalPathStep& step_;
  int64_t chain_;
  float* table_;
  Rows rows_;
  uint8_t *x_, *y_;
  Draws draws_;
  KeptSums<Rows> sums_;
  Path path_ = {};
  SiteAim aim_ = {};
  PathLogQ forward_, backward_;
};

// A step of chains first … end − 1, at most kTogether, a piece of all of them at a time.
template <class Rows>
void step_together(const LocalPathStep& step, int64_t first, int64_t end, int64_t later) {
  std::optional<LocalChain<Rows>> chains[kTogether];
  int64_t longest = 0;
  for (int64_t c = first; c < end; ++c) {
    longest = std::max(longest, chains[c - first].emplace(step, c, later).length());
  }
  const auto each = [&](int64_t l, auto piece) {
    for (int64_t c = 0; c < end - first; ++c) {
      if (l < chains[c]->length()) piece(*chains[c]);
    }
  };
  const bool exact = step.what == SiteTable::kDifferences;
  for (int64_t l = 0; l < longest; ++l) {
    each(l, [l](auto& chain) { chain.aim(l); });
    each(l, [l, exact](auto& chain) { exact ? chain.draw_and_score(l) : chain.draw(l); });
  }
  if (!exact) {
    each(0, [](auto& chain) { chain.follow_path(); });
    for (int64_t l = longest; l-- > 0;) each(l, [l](auto& chain) { chain.score(l); });
  }
  each(0, [](auto& chain) { chain.decide(); });
}

template <class Rows>
void keep_chain(const PathShape& shape, const uint8_t* x, const float* table, double* kept,
                int64_t c) {
  KeptSums(rows_of<Rows>(shape, table + c * shape.table_size()), x + c * shape.sites, shape.sites,
           kept + c * kept_sums_size(shape.sites))
      .build();
}

// Binary sites in every instruction set, with all that a step calls.
ISINGLASS_VECTOR_CLONES [[gnu::flatten]] void step_binary(const LocalPathStep& step, int64_t first,
                                                          int64_t end, int64_t later) {
  step_together<BinaryRows>(step, first, end, later);
}
ISINGLASS_VECTOR_CLONES [[gnu::flatten]] void step_flips(const LocalPathStep& step, int64_t first,
                                                         int64_t end, int64_t later) {
  step_together<DifferenceRows>(step, first, end, later);
}

// What is compiled for every kind of rows.
struct Chains {
  void (*step)(const LocalPathStep&, int64_t first, int64_t end, int64_t later);
  void (*keep)(const PathShape&, const uint8_t* x, const float* table, double* kept, int64_t c);
};

Chains chains_of(const PathShape& shape, SiteTable what) {
  using ValueDifferences = ValueRows<OneHotDifferences>;
  if (what == SiteTable::kGradient) {
    return shape.one_hot ? Chains{step_together<OneHotRows>, keep_chain<OneHotRows>}
                         : Chains{step_binary, keep_chain<BinaryRows>};
  }
  return shape.one_hot ? Chains{step_together<ValueDifferences>, keep_chain<ValueDifferences>}
                       : Chains{step_flips, keep_chain<DifferenceRows>};
}

}  // namespace

int64_t kept_weights(int64_t sites) {
  return kept_sums_size(sites);
}

void keep_weights(const PathShape& shape, SiteTable what, const uint8_t* x, const float* table,
                  double* kept, Stream) {
  const Chains chains = chains_of(shape, what);
#pragma omp parallel for schedule(static) if (worth_threads(shape.chains * shape.sites))
  for (int64_t c = 0; c < shape.chains; ++c) chains.keep(shape, x, table, kept, c);
}

void local_path_step(const LocalPathStep& step, Stream) {
  const int64_t count = step.shape.chains;
  const Chains chains = chains_of(step.shape, step.what);
#pragma omp parallel for schedule(static) if (worth_threads(step.steps * count * kNumbersAStep))
  for (int64_t c = 0; c < count; c += kTogether) {
    const int64_t end = std::min(count, c + kTogether);
    for (int64_t t = 0; t < step.steps; ++t) chains.step(step, c, end, t);
  }
}

}  // namespace isinglass::cpu
