// CPU twin of jump.h: a thread works on one chain after the other.
#include <algorithm>
#include <type_traits>

#include "kernels/jump.h"
#include "kernels/jump_rows.h"
#include "kernels/site_lanes_cpu.h"
#include "kernels/site_sums_cpu.h"

namespace isinglass::cpu {
namespace {

constexpr int kSolveNumbers = kMaxSolvedCategories * (kMaxSolvedCategories + 2);

struct NoSync {
  void operator()() const {}
};

template <class Sites, class Values>
double site_log_q(const JumpShape& shape, const JumpTime& time, const Sites& sites, int64_t site,
                  int from, const Values& values, double* scratch) {
  if (needs_solve(shape)) {
    return values.log_probability(
        SolvedRow<Sites, NoSync>(time, sites, site, from, scratch, 0, 1, {}), site);
  }
  return values.log_probability(ClosedRow<Sites>(time, sites, site, from), site);
}

// Which of 32 binary sites stay: by a draw, …
void choose(const DrawnValues& values, const uint8_t* x, int64_t first, const double* stay,
            int64_t* stays) {
  double u[kBlockSites];
  uniforms(values.draws, Purpose::kValue, static_cast<uint32_t>(first), u);
  draw_stays(stay, u, x + first, stays, values.y + first);
}

// … or given.
void choose(const GivenValues& values, const uint8_t* x, int64_t first, const double*,
            int64_t* stays) {
  given_stays(x + first, values.y + first, stays);
}

// binary_log_q() of 32 sites.
template <class Values>
void binary_block(const JumpTime& time, const OrderedSites& sites, const uint8_t* x, int64_t first,
                  const Values& values, double* log_p) {
  double d[kBlockSites], stay[kBlockSites], move[kBlockSites];
  int64_t stays[kBlockSites];
  flip_differences(sites.gradient + first, x + first, d);
  binary_rows(time, d, stay, move);
  choose(values, x, first, stay, stays);
  if (log_probabilities(d, stay, move, stays, log_p)) return;
  for (int i = 0; i < kBlockSites; ++i) {
    if (in_range(d[i], stays[i] ? stay[i] : move[i])) continue;
    const ClosedRow<OrderedSites> row(time, sites, first + i, x[first + i]);
    log_p[i] = values.log_probability(row, first + i);
  }
}

template <class Sites, class Values>
double chain_log_q(const JumpShape& shape, const JumpTime& time, const Sites& sites,
                   const uint8_t* x, const Values& values) {
  double scratch[kSolveNumbers];
  double log_q = 0;
  for (int64_t first = 0; first < shape.sites; first += kBlockSites) {
    double log_p[kBlockSites] = {};
    const int64_t end = std::min<int64_t>(first + kBlockSites, shape.sites);
    if constexpr (std::is_same_v<Sites, OrderedSites>) {
      if (shape.binary() && end - first == kBlockSites) {
        binary_block(time, sites, x, first, values, log_p);
        log_q += tree_sum(log_p);
        continue;
      }
    }
    for (int64_t i = first; i < end; ++i) {
      log_p[i - first] = shape.binary() ? binary_log_q(time, sites, i, x[i], values)
                                        : site_log_q(shape, time, sites, i, x[i], values, scratch);
    }
    log_q += tree_sum(log_p);
  }
  return log_q;
}

// log_q of every chain; values_of(chain) says what becomes of its sites.
template <class F>
void jump(const JumpShape& shape, const uint8_t* x, const float* gradient, double scale,
          double* log_q, F values_of) {
  const JumpTime time(shape, scale);
#pragma omp parallel for schedule(static) if (worth_threads(shape.chains * shape.sites))
  for (int64_t c = 0; c < shape.chains; ++c) {
    const uint8_t* own = x + c * shape.sites;
    if (shape.one_hot) {
      const OneHotSites sites{gradient + c * shape.sites * shape.categories, shape.categories};
      log_q[c] = chain_log_q(shape, time, sites, own, values_of(c));
    } else {
      const OrderedSites sites{gradient + c * shape.sites, shape.categories};
      log_q[c] = chain_log_q(shape, time, sites, own, values_of(c));
    }
  }
}

}  // namespace

void draw_jump(const JumpShape& shape, const uint8_t* x, const float* gradient, const int64_t* rng,
               const int64_t* chain_ids, const double* scale, uint8_t* y, double* log_q, Stream) {
  jump(shape, x, gradient, *scale, log_q, [&](int64_t c) {
    const int64_t at = c * shape.sites;
    return DrawnValues{step_draws(rng, chain_ids[c]), shape.categories, x + at, y + at};
  });
}

void score_jump(const JumpShape& shape, const uint8_t* from, const float* gradient,
                const uint8_t* to, const double* scale, double* log_q, Stream) {
  jump(shape, from, gradient, *scale, log_q,
       [&](int64_t c) { return GivenValues{to + c * shape.sites}; });
}

}  // namespace isinglass::cpu
