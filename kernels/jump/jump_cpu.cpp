// Implements jump.h on the CPU, with chains shared among threads.
#include <algorithm>

#include "kernels/base/blocks.h"
#include "kernels/base/threads_cpu.h"
#include "kernels/base/vectors_cpu.h"
#include "kernels/jump/fast/binary_rows_cpu.h"
#include "kernels/jump/transition_rows.h"

namespace isinglass::cpu {
namespace {

constexpr int kSolveNumbers = kMaxSolvedCategories * (kMaxSolvedCategories + 2);

struct NoSync {
  void operator()() const {}
};

// Draws a chain of binary sites and returns log q.
double flip_chain(const BinaryJumpParameters& jump, const float* gradient, int64_t sites,
                  const DrawTarget& target) {
  return draw_flips(jump, gradient, target.x, target.draws, sites, target.y);
}

// Returns log q of a chain of binary sites whose new values are given.
double flip_chain(const BinaryJumpParameters& jump, const float* gradient, int64_t sites,
                  const ScoreTarget& target) {
  return score_flips(jump, gradient, target.x, target.y, sites);
}

template <class Sites, class Target>
double site_log_q(const JumpShape& shape, const JumpParameters& jump, const Sites& sites,
                  int64_t site, int from, const Target& target, double* scratch) {
  if (needs_solve(shape)) {
    return target.log_probability(
        SolvedRow<Sites, NoSync>(jump, sites, site, from, scratch, 0, 1, {}), site);
  }
  return target.log_probability(ClosedRow<Sites>(jump, sites, site, from), site);
}

// Returns log q of a chain of non-binary sites.
template <class Sites, class Target>
double value_chain(const JumpShape& shape, double scale, const Sites& sites, const uint8_t* x,
                   const Target& target) {
  const JumpParameters jump(shape, scale);
  double scratch[kSolveNumbers], log_q = 0;
  for (int64_t first = 0; first < shape.sites; first += kBlockSites) {
    double log_p[kBlockSites] = {};
    const int64_t end = std::min<int64_t>(first + kBlockSites, shape.sites);
    for (int64_t i = first; i < end; ++i) {
      log_p[i - first] = site_log_q(shape, jump, sites, i, x[i], target, scratch);
    }
    log_q += tree_sum(log_p);
  }
  return log_q;
}

// Writes log q of every chain. target_of(chain) says whether its sites are drawn or given.
template <class F>
void jump_chains(const JumpShape& shape, const uint8_t* x, const float* gradient, ChainScale scales,
                 double* log_q, F target_of) {
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, shape.chains * shape.sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t c = 0; c < shape.chains; ++c) {
    const uint8_t* own = x + c * shape.sites;
    const double scale = scales[c];
    if (shape.binary()) {
      log_q[c] = flip_chain(BinaryJumpParameters(shape, scale), gradient + c * shape.sites,
                            shape.sites, target_of(c));
    } else if (shape.one_hot) {
      const OneHotSites sites{gradient + c * shape.sites * shape.categories, shape.categories};
      log_q[c] = value_chain(shape, scale, sites, own, target_of(c));
    } else {
      const OrderedSites sites{gradient + c * shape.sites, shape.categories};
      log_q[c] = value_chain(shape, scale, sites, own, target_of(c));
    }
  }
}

}  // namespace

void draw_jump(const JumpShape& shape, const uint8_t* x, const float* gradient, const int64_t* rng,
               const int64_t* chain_ids, ChainScale scale, uint8_t* y, double* log_q, Stream) {
  jump_chains(shape, x, gradient, scale, log_q, [&](int64_t c) {
    const int64_t at = c * shape.sites;
    return DrawTarget{step_draws(rng, chain_ids[c]), shape.categories, x + at, y + at};
  });
}

void score_jump(const JumpShape& shape, const uint8_t* from, const float* gradient,
                const uint8_t* to, ChainScale scale, double* log_q, Stream) {
  jump_chains(shape, from, gradient, scale, log_q,
              [&](int64_t c) { return ScoreTarget{from + c * shape.sites, to + c * shape.sites}; });
}

}  // namespace isinglass::cpu
