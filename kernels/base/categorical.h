// Draws from a list of weights: the one inverse CDF of the project.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"

namespace isinglass {

// exp(v − scale), v below scale + 64; 0 for v = −∞ whatever the scale, NaN for a NaN.
ISINGLASS_HD inline double scaled_weight(double log_weight, double scale) {
  return elementary::exp_below(log_weight - (scale == -INFINITY ? 0.0 : scale));
}

// The first k < count whose cumulative weight exceeds the target; where rounding leaves the target
// beyond all weights, the last k of positive weight, and `none` where no weight is positive.
template <class Weight>
ISINGLASS_HD inline int64_t inverse_cdf(int64_t count, Weight weight, double target, int64_t none) {
  double cumulative = 0;
  int64_t last = none;
  for (int64_t k = 0; k < count; ++k) {
    const double w = weight(k);
    if (w > 0) last = k;
    cumulative += w;
    if (target < cumulative) break;
  }
  return last;
}

// A value's place among all values when `first` comes before the others, which keep their order.
ISINGLASS_HD inline int value_from(int place, int first) {
  return place == 0 ? first : place <= first ? place - 1 : place;
}

// The new value at quantile u, given the energies of all values up to a constant: a pointer, or
// anything with operator[]. A value whose energy is not finite has no weight; `finite` tells
// whether all were.
template <class Energies>
ISINGLASS_HD inline int draw_conditional(const Energies& energy, int categories, int current,
                                         double u, bool* finite) {
  *finite = true;
  double least = INFINITY, total = 0;
  for (int k = 0; k < categories; ++k) {
    if (std::isfinite(energy[k])) {
      least = fmin(least, energy[k]);
    } else {
      *finite = false;
    }
  }
  const auto weight = [&](int64_t k) {
    const double e = energy[static_cast<int>(k)];
    return std::isfinite(e) ? exp(least - e) : 0.0;
  };
  for (int k = 0; k < categories; ++k) total += weight(k);
  return static_cast<int>(inverse_cdf(categories, weight, u * total, current));
}

}  // namespace isinglass
