// Implements intervals with Student's t distribution.
#include "lab/grid/rules/interval.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace isinglass {
namespace {

// Returns the half-width of an interval in standard errors, or NaN below one degree of freedom.
double reach(double freedom, double level) {
  if (!(freedom >= 1)) return NAN;
  return boost::math::quantile(boost::math::students_t(freedom), (1 + level) / 2);
}

}  // namespace

double half_width(const Estimate& estimate, double level) {
  if (estimate.error == 0) return estimate.bias;
  return reach(estimate.freedom, level) * estimate.error + estimate.bias;
}

Interval difference(const Estimate& first, const Estimate& second, double level) {
  const double a = first.error * first.error, b = second.error * second.error;
  // A number without error contributes nothing to Welch's degrees of freedom.
  const double shares = (a > 0 ? a * a / first.freedom : 0) + (b > 0 ? b * b / second.freedom : 0);
  const double middle = first.value - second.value, bias = first.bias + second.bias;
  if (a + b == 0) return {middle - bias, middle + bias};
  const double half = reach((a + b) * (a + b) / shares, level) * std::sqrt(a + b) + bias;
  return {middle - half, middle + half};
}

}  // namespace isinglass
