// See local_path.h: a thread works on one chain after the other.
#include "kernels/kept_sums_cpu.h"
#include "kernels/local_path.h"
#include "kernels/path_chain_cpu.h"
#include "kernels/path_length.h"

namespace isinglass::cpu {
namespace {

constexpr int64_t kNumbersAStep = 512;  // that one chain's step touches, for worth_threads

// One chain's part of the step that is `later` steps after the present one.
template <class Rows>
class LocalChain {
 public:
  LocalChain(const LocalPathStep& step, Rows rows, float* table, int64_t chain, int64_t later)
      : step_(step),
        chain_(chain),
        length_(step.paths.length[later * step.shape.chains + chain]),
        rows_(rows),
        table_(table),
        x_(step.x + chain * step.shape.sites),
        y_(step.y + chain * step.shape.sites),
        draws_(step_draws(step.rng, step.chain_ids[chain], later)),
        sums_(rows, y_, step.shape.sites, step.kept + chain * kept_sums_size(step.shape.sites)) {}

  void run() {
    const int64_t length = draw_path_length(draws_, *step_.radius, step_.shape.max_length);
    length_ = static_cast<int32_t>(length);
    path_ = path_of_chain(step_.paths, chain_, length, step_.shape.max_length);
    const auto [forward, backward] =
        step_.what == SiteTable::kGradient ? first_order_path() : exact_path();
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
  struct LogQ {
    double forward, backward;
  };

  LogQ first_order_path() {
    const PathRule rule = step_.shape.rule;
    const double forward = draw_chain(rule, rows_, sums_, draws_, x_, y_, path_);
    follow_path();
    return {forward, score_chain(rule, rows_, sums_, y_, path_)};
  }

  LogQ exact_path() {
    LogQ log_q{0, 0};
    for (int64_t l = 0; l < path_.length; ++l) {
      const int64_t site = sums_.draw_site(draws_.uniform(Purpose::kSite, l));
      const int from = y_[site];
      const int to = rows_.draw_value(site, from, draws_.uniform(Purpose::kValue, l));
      log_q.forward += rows_.log_weight(site, from, to) - sums_.log_total();
      path_.site[l] = static_cast<int32_t>(site);
      path_.from[l] = static_cast<uint8_t>(from);
      path_.to[l] = static_cast<uint8_t>(to);
      y_[site] = static_cast<uint8_t>(to);
      follow_site(site);
      sums_.settle();
      log_q.backward += rows_.log_weight(site, to, from) - sums_.log_total();
    }
    return log_q;
  }

  // The table and the weights where y's values have changed.
  void follow_path() {
    for (int64_t l = 0; l < path_.length; ++l) follow_site(path_.site[l]);
    sums_.settle();
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
      sums_.set(site);  // scoring may have moved or removed it
    }
    sums_.settle();
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
  int32_t& length_;
  Rows rows_;
  float* table_;
  uint8_t *x_, *y_;
  Draws draws_;
  KeptSums<Rows> sums_;
  Path path_ = {};
};

// Calls f(rows, table, chain) with every chain's own, chains spread over the threads.
template <class T, class F>
void for_each_chain(const PathShape& shape, SiteTable what, T* table, int64_t numbers, F f) {
  const int64_t stride = shape.sites * (shape.one_hot ? shape.categories : 1);
  const Balancing g = shape.balancing;
  const bool exact = what == SiteTable::kDifferences;
#pragma omp parallel for schedule(static) if (worth_threads(shape.chains * numbers))
  for (int64_t c = 0; c < shape.chains; ++c) {
    T* own = table + c * stride;
    if (shape.one_hot && exact) {
      f(ValueRows<OneHotDifferences>{{own, g, shape.categories}}, own, c);
    } else if (shape.one_hot) {
      f(OneHotRows{{own, g, shape.categories}}, own, c);
    } else if (exact) {
      f(DifferenceRows{own, g}, own, c);
    } else {
      f(BinaryRows{own, g}, own, c);
    }
  }
}

}  // namespace

int64_t kept_weights(int64_t sites) {
  return kept_sums_size(sites);
}

void keep_weights(const PathShape& shape, SiteTable what, const uint8_t* x, const float* table,
                  double* kept, Stream) {
  for_each_chain(shape, what, table, shape.sites, [&](auto rows, const float*, int64_t c) {
    KeptSums(rows, x + c * shape.sites, shape.sites, kept + c * kept_sums_size(shape.sites))
        .build();
  });
}

void local_path_step(const LocalPathStep& step, Stream) {
  for_each_chain(step.shape, step.what, step.table, step.steps * kNumbersAStep,
                 [&](auto rows, float* own, int64_t c) {
                   for (int64_t t = 0; t < step.steps; ++t) LocalChain(step, rows, own, c, t).run();
                 });
}

}  // namespace isinglass::cpu
