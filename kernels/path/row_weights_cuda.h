// Computes the weights of sites with many values (move_weights.h) by rows (CUDA). A warp handles
// one site at a time and its lanes the values, so that they read a row of gradients or differences
// side by side. The sums equal those of Categorical up to the order of addition, and so up to
// rounding.
#pragma once

#include "kernels/base/launch.h"
#include "kernels/path/move_weights.h"

namespace isinglass::cuda {

constexpr int kRowValues = 16;  // With fewer values most lanes would be idle.

// True if the log weights of a site's moves are stored in a row.
template <class LogWeights>
constexpr bool kHasRows = false;
template <>
inline constexpr bool kHasRows<CategoricalGradient> = true;
template <>
inline constexpr bool kHasRows<ValueDifferences> = true;

// The whole warp must call every method.
template <class LogWeights>
struct RowWeights : LogWeights {
  using LogWeights::log_weight;
  using LogWeights::values;

  // Holds the scale of a site's largest weight and the sum of all weights on it.
  struct Moves {
    double scale = -INFINITY, sum = 0;

    __device__ double log_sum() const {
      return scale == -INFINITY ? scale : scale + elementary::log(sum);
    }
  };

  __device__ Moves moves(int64_t site, int from) const {
    Moves all;
    for (int first = 0; first < values; first += kLanes) {
      all.scale = fmax(all.scale, lane_log_weight(site, from, first));
    }
    all.scale = warp_max(all.scale);
    for (int first = 0; first < values; first += kLanes) {
      all.sum += scaled_weight(lane_log_weight(site, from, first), all.scale);
    }
    all.sum = warp_sum(all.sum);
    return all;
  }

  __device__ double log_site_weight(int64_t site, int from) const {
    return moves(site, from).log_sum();
  }

  // Returns the same value as inverse_cdf(): the first value whose cumulative weight exceeds the
  // target, or the last one of positive weight.
  __device__ int draw_value(int64_t site, int from, double u) const {
    const Moves all = moves(site, from);
    const double target = u * all.sum;
    double before = 0;
    int last = from == 0 ? 1 : 0;
    for (int first = 0; first < values; first += kLanes) {
      const double w = scaled_weight(lane_log_weight(site, from, first), all.scale);
      double cumulative = w;
      for (unsigned offset = 1; offset < kLanes; offset *= 2) {
        const double other = __shfl_up_sync(0xffffffffu, cumulative, offset);
        if (threadIdx.x % kLanes >= offset) cumulative += other;
      }
      const unsigned positive = __ballot_sync(0xffffffffu, w > 0);
      const unsigned beyond = __ballot_sync(0xffffffffu, w > 0 && target < before + cumulative);
      if (beyond) return first + __ffs(static_cast<int>(beyond)) - 1;
      if (positive) last = first + 31 - __clz(static_cast<int>(positive));
      before += __shfl_sync(0xffffffffu, cumulative, kLanes - 1);
    }
    return last;
  }

 private:
  static constexpr int kLanes = 32;

  // Returns the log weight of this lane's value, the lane-th after `first`, or −∞ if there is none.
  __device__ double lane_log_weight(int64_t site, int from, int first) const {
    const int k = first + static_cast<int>(threadIdx.x % kLanes);
    return k < values && k != from ? log_weight(site, from, k) : -INFINITY;
  }
};

template <class Weights>
constexpr bool kByRow = false;
template <class LogWeights>
inline constexpr bool kByRow<RowWeights<LogWeights>> = true;

// Calls f with the weights, by rows if they have rows and sites have at least kRowValues values.
template <class Weights, class F>
ISINGLASS_HD void with_rows(const Weights& weights, F f) {
  f(weights);
}
template <class LogWeights, class F>
ISINGLASS_HD void with_rows(const ValueWeights<LogWeights>& weights, F f) {
  if constexpr (kHasRows<LogWeights>) {
    if (weights.values >= kRowValues) return f(RowWeights<LogWeights>{weights});
  }
  f(weights);
}

}  // namespace isinglass::cuda
