// Draws a value from a list of weights. This file holds the only inverse CDF of the project.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"

namespace isinglass {

// Returns exp(v − scale). v must be below scale + 64. The result is 0 for v = −∞ whatever the
// scale, and NaN for a NaN.
ISINGLASS_HD inline double scaled_weight(double log_weight, double scale) {
  return elementary::exp_below(log_weight - (scale == -INFINITY ? 0.0 : scale));
}

// Returns the first k < count whose cumulative weight exceeds the target. If rounding leaves the
// target beyond the total weight, returns the last k of positive weight, and `none` if no weight is
// positive.
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

// Returns the value at position `place` of the order in which the value `first` comes before all
// others, and the others keep their order.
ISINGLASS_HD inline int value_from(int place, int first) {
  return place == 0 ? first : place <= first ? place - 1 : place;
}

// Represents a distribution over the values 0 … count − 1, given log weights up to a common
// constant. `log_weight` is anything callable with a value; it returns −∞ for a value without
// weight. Weights are scaled by the largest one before they are summed.
template <class LogWeight>
class Categorical {
 public:
  ISINGLASS_HD Categorical(int count, LogWeight log_weight)
      : count_(count), log_weight_(log_weight) {
    for (int k = 0; k < count_; ++k) {
      const double of_value = log_weight_(k);
      if (of_value > scale_) scale_ = of_value;
    }
    for (int k = 0; k < count_; ++k) sum_ += weight(k);
  }

  // Returns log Σ_k e^{log weight}, or −∞ if no value has weight.
  ISINGLASS_HD double log_sum() const {
    return scale_ == -INFINITY ? scale_ : scale_ + elementary::log(sum_);
  }
  ISINGLASS_HD double log_probability(int k) const { return log_weight_(k) - log_sum(); }
  // Returns the value at quantile u, or `none` if no value has weight.
  ISINGLASS_HD int draw(double u, int none) const {
    const auto of_value = [&](int64_t k) { return weight(static_cast<int>(k)); };
    return static_cast<int>(inverse_cdf(count_, of_value, u * sum_, none));
  }

 private:
  ISINGLASS_HD double weight(int k) const { return scaled_weight(log_weight_(k), scale_); }

  int count_;
  LogWeight log_weight_;
  double scale_ = -INFINITY, sum_ = 0;
};

// Returns the new value at quantile u, given the energies of all values up to a common constant.
// `energy` is a pointer or anything with operator[]. A value whose energy is not finite has no
// weight, and the current value stays if none has weight; `finite` reports whether all energies
// were finite.
template <class Energies>
ISINGLASS_HD inline int draw_conditional(const Energies& energy, int categories, int current,
                                         double u, bool* finite) {
  *finite = true;
  const auto log_weight = [&energy, finite](int k) -> double {
    const double e = energy[k];
    if (std::isfinite(e)) return -e;
    *finite = false;
    return -INFINITY;
  };
  return Categorical(categories, log_weight).draw(u, current);
}

}  // namespace isinglass
