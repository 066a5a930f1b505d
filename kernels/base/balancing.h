// Computes balancing functions g(t) = t·g(1/t) (Zanella 2020, "Informed proposals for local MCMC in
// discrete spaces") in the log domain: log g at t = e^d, where d is a log density ratio.
//
//   kSqrt    d/2
//   kBarker  −softplus(−d)
//   kMin     min(0, d)
//   kMax     max(0, d)
#pragma once

#include <cmath>

#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"

namespace isinglass {

enum class Balancing : int { kSqrt = 0, kBarker, kMin, kMax };

ISINGLASS_HD inline double softplus(double x) {
  return (x > 0 ? x : 0.0) + elementary::log1p(elementary::exp(x > 0 ? -x : x));
}

ISINGLASS_HD inline double log_balance(Balancing g, double d) {
  switch (g) {
    case Balancing::kSqrt:
      return 0.5 * d;
    case Balancing::kBarker:
      return -softplus(-d);
    case Balancing::kMin:
      return d < 0 ? d : 0.0;
    case Balancing::kMax:
      return d > 0 ? d : 0.0;
  }
  return 0.5 * d;
}

// Holds g(t) (`forward`, the forward direction) and g(1/t) (`reverse`, the reverse direction).
// balance_pair() computes both from the root √t, for t that neither overflows nor has an
// overflowing 1/t.
struct BalancePair {
  float forward, reverse;
};

ISINGLASS_HD inline BalancePair balance_pair(Balancing g, float root) {
  const float t = root * root;
  switch (g) {
    case Balancing::kSqrt:
      return {root, 1 / root};
    case Balancing::kBarker: {
      const float reverse = 1 / (1 + t);
      return {t * reverse, reverse};
    }
    case Balancing::kMin:
      return {t < 1 ? t : 1.0f, t > 1 ? 1 / t : 1.0f};
    case Balancing::kMax:
      return {t > 1 ? t : 1.0f, t < 1 ? 1 / t : 1.0f};
  }
  return {root, 1 / root};
}

}  // namespace isinglass
