// CPU twin of jump.h: a thread works on one chain after the other.
#include <algorithm>

#include "kernels/jump/jump.h"
#include "kernels/jump/transition_rows.h"
#include "kernels/path/fast/block_weights_cpu.h"
#include "kernels/path/weight_sums_cpu.h"

namespace isinglass::cpu {
namespace {

constexpr int kSolveNumbers = kMaxSolvedCategories * (kMaxSolvedCategories + 2);

struct NoSync {
  void operator()() const {}
};

// log q of a chain of binary sites, …
double flip_chain(const FlipTime& time, const float* gradient, int64_t sites,
                  const DrawnValues& values) {
  return draw_flips(time, gradient, values.x, values.draws, sites, values.y);
}

double flip_chain(const FlipTime& time, const float* gradient, int64_t sites,
                  const GivenValues& values) {
  return score_flips(time, gradient, values.x, values.y, sites);
}

template <class Sites, class Values>
double site_log_q(const JumpShape& shape, const JumpTime& time, const Sites& sites, int64_t site,
                  int from, const Values& values, double* scratch) {
  if (needs_solve(shape)) {
    return values.log_probability(
        SolvedRow<Sites, NoSync>(time, sites, site, from, scratch, 0, 1, {}), site);
  }
  return values.log_probability(ClosedRow<Sites>(time, sites, site, from), site);
}

// … and of other sites.
template <class Sites, class Values>
double value_chain(const JumpShape& shape, double scale, const Sites& sites, const uint8_t* x,
                   const Values& values) {
  const JumpTime time(shape, scale);
  double scratch[kSolveNumbers], log_q = 0;
  for (int64_t first = 0; first < shape.sites; first += kBlockSites) {
    double log_p[kBlockSites] = {};
    const int64_t end = std::min<int64_t>(first + kBlockSites, shape.sites);
    for (int64_t i = first; i < end; ++i) {
      log_p[i - first] = site_log_q(shape, time, sites, i, x[i], values, scratch);
    }
    log_q += tree_sum(log_p);
  }
  return log_q;
}

// log_q of every chain; values_of(chain) says what becomes of its sites.
template <class F>
void jump(const JumpShape& shape, const uint8_t* x, const float* gradient, double scale,
          double* log_q, F values_of) {
#pragma omp parallel for schedule(static) if (worth_threads(shape.chains * shape.sites))
  for (int64_t c = 0; c < shape.chains; ++c) {
    const uint8_t* own = x + c * shape.sites;
    if (shape.binary()) {
      log_q[c] =
          flip_chain(FlipTime(shape, scale), gradient + c * shape.sites, shape.sites, values_of(c));
    } else if (shape.one_hot) {
      const OneHotSites sites{gradient + c * shape.sites * shape.categories, shape.categories};
      log_q[c] = value_chain(shape, scale, sites, own, values_of(c));
    } else {
      const OrderedSites sites{gradient + c * shape.sites, shape.categories};
      log_q[c] = value_chain(shape, scale, sites, own, values_of(c));
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
  jump(shape, from, gradient, *scale, log_q, [&](int64_t c) {
    return GivenValues{from + c * shape.sites, to + c * shape.sites};
  });
}

}  // namespace isinglass::cpu
