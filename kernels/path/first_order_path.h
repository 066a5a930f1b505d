// Proposes a path of one-site moves, which is drawn and scored to first order.
//
//   L ~ Uniform{1 … n} per chain, n = ⌊2R − 1⌋ + Bernoulli(frac(2R − 1)); σ_0 = x, …, σ_L = y
//   kFrozen (gwg):       sites i.i.d. from the weights at x; one new value for each distinct site
//                        log q = Σ_l log q_{i_l}(x) + Σ_distinct log[q_{i,y_i}(x) / q_i(x)]
//   kLinearised (pafs):  step l moves (i → k) with weight g(exp(s_{i,k}(x) − s_{i,σ_{l−1,i}}(x)));
//                        log q = Σ_l log q(σ_l | σ_{l−1}); reversed with the score at y
//   kNoBacktrack (nb):   pairs (i, k) without replacement from the weights at x; a drawn site
//                        leaves the pool with all its pairs.
//                        log q = Σ_l log[q_{i_l,k_l}(x) / pool_l(x)];
//                        reversed: the old values in reverse order, without replacement, at y
//
// Grathwohl, Swersky, Hashemi, Duvenaud & Maddison 2021, "Oops I took a gradient" (gwg); Sun, Dai,
// Xia & Ramamurthy 2022, "Path auxiliary proposal for MCMC in discrete space" (pafs, nb). Sites are
// binary, categorical (s_{i,k} is the one-hot score) or ordered (s_{i,k} = k·s_i). Drawing and
// scoring share move_weights.h and path_moves.h; the reverse of a path uses the same weights with
// the gradient at y.
#pragma once

#include <cstdint>

#include "kernels/base/balancing.h"
#include "kernels/base/chain_scale.h"
#include "kernels/base/host_device.h"
#include "kernels/base/log_product.h"
#include "kernels/path/move_weights.h"

namespace isinglass {

enum class PathRule : int { kFrozen = 0, kLinearised = 1, kNoBacktrack = 2 };

struct PathShape {
  int64_t chains;
  int64_t sites;
  int categories;  // 2 … 256
  bool one_hot;    // The gradient is [B, D, K] if true, and [B, D] for binary and ordered values.
  PathRule rule;
  Balancing balancing;
  // The path buffers have this many columns, and L is clamped to it. It is at most D for
  // kNoBacktrack.
  int64_t max_length;

  // Returns how many numbers a chain's gradient or differences have.
  ISINGLASS_HD int64_t table_size() const { return sites * (one_hot ? categories : 1); }
};

// Refers to the drawn paths. A move with from == to revisits a site of a frozen path.
struct Paths {
  int32_t* length;  // [B]
  int32_t* site;    // [B, max_length]
  uint8_t* from;    // [B, max_length]
  uint8_t* to;      // [B, max_length]
  double* scratch;  // [B, sums_scratch(D)]
};

// Refers to one chain's part of the path buffers.
struct Path {
  int64_t length;
  int32_t* site;
  uint8_t* from;
  uint8_t* to;
};

ISINGLASS_HD inline Path path_of_chain(const Paths& paths, int64_t chain, int64_t length,
                                       int64_t max_length) {
  const int64_t at = chain * max_length;
  return {length, paths.site + at, paths.from + at, paths.to + at};
}

// Returns the state at which the weights are taken while y moves away from x.
ISINGLASS_HD inline const uint8_t* weighed_values(PathRule rule, const uint8_t* x,
                                                  const uint8_t* y) {
  return rule == PathRule::kLinearised ? y : x;
}

// Returns true if drawn sites leave the pool.
ISINGLASS_HD inline bool without_replacement(PathRule rule) {
  return rule == PathRule::kNoBacktrack;
}

// Accumulates log q of a path: Σ_l log weight − log pool, where the pool is the sum of all weights,
// e^scale·sum.
class PathLogQ {
 public:
  ISINGLASS_HD void move(double log_weight, double scale, double sum) {
    log_weights_ += log_weight - scale;
    sums_.multiply(sum);
  }
  ISINGLASS_HD double total() { return log_weights_ - sums_.log(); }

 private:
  double log_weights_ = 0;
  LogProduct sums_;
};

// Calls f with the weights of a chain that its gradient gives.
template <class F>
void with_gradient_weights(const PathShape& shape, const float* gradient, F f) {
  if (shape.one_hot) {
    f(CategoricalGradientWeights{{gradient, shape.balancing, shape.categories}});
  } else if (shape.categories > 2) {
    f(OrderedGradientWeights{{gradient, shape.balancing, shape.categories}});
  } else {
    f(BinaryGradientWeights{{gradient, shape.balancing}});
  }
}

// Draws a path from x for every chain; writes y, the path and log q(path | x).
//   x, y [B, D]; gradient of U at x; rng {seed, step}; chain_ids [B]; radius: R; log_q [B]
ISINGLASS_TWINS(draw_path, const PathShape&, const uint8_t* x, const float* gradient,
                const int64_t* rng, const int64_t* chain_ids, ChainScale radius, uint8_t* y, Paths,
                double* log_q, Stream)
// Writes log q(reversed path | y), given the gradient at y. y is walked back to x and restored.
ISINGLASS_TWINS(score_path, const PathShape&, uint8_t* y, const float* gradient, Paths,
                double* log_q, Stream)

}  // namespace isinglass
