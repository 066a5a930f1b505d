// Intervals of measured numbers, the same for claims and for pages.
//
// A number is the mean of n repeats. Its error is the larger one of the error that the repeats
// report and the one that their spread shows, and always has n − 1 degrees of freedom: what chains
// of one run report says nothing of what differs from run to run. A single repeat has no interval.
// Quantiles are those of Student's t, with Welch's degrees of freedom for differences. A bias, such
// as half of an open end of a likelihood's bracket, does not shrink with repeats: it is added.
#pragma once

#include "lab/grid/metrics.h"

namespace isinglass {

inline constexpr double kLevel = 0.95;  // of an interval that stands alone

// A difference is positive where the first number is better.
struct Interval {
  double low, high;
};

// Half the width of the two-sided interval; NaN where the error or its freedom is unknown.
double half_width(const Estimate& estimate, double level = kLevel);

// The interval of first − second, of independent estimates.
Interval difference(const Estimate& first, const Estimate& second, double level = kLevel);

}  // namespace isinglass
