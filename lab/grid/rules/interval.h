// Computes confidence intervals of measured numbers, the same for claims and for pages.
//
// A number is the mean of n repeats. Its error is the larger of the error that the repeats report
// and the error that their spread shows. It always has n − 1 degrees of freedom, as the error
// reported by the chains of one run does not cover differences between runs. A single repeat has no
// interval. Quantiles are those of Student's t distribution, with Welch's degrees of freedom for
// differences. A bias, such as half of a likelihood's bracket, does not shrink with the number of
// repeats and is added to the half-width.
#pragma once

#include "lab/grid/metrics.h"

namespace isinglass {

inline constexpr double kLevel = 0.95;  // A single interval has this level.

// Holds the interval of a difference, which is positive if the first number is better.
struct Interval {
  double low, high;
};

// Returns half the width of the two-sided interval, or NaN if the error or its degrees of freedom
// are unknown.
double half_width(const Estimate& estimate, double level = kLevel);

// Returns the interval of first − second for independent estimates.
Interval difference(const Estimate& first, const Estimate& second, double level = kLevel);

}  // namespace isinglass
