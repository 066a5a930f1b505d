// Times stages of work round by round: each round measures every stage once. The first rounds are
// warm-up; the rest give medians and spreads. Interleaving the stages spreads slow changes of the
// machine's speed over all of them alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/torch.h"

namespace isinglass {

struct Stage {
  std::string name;
  // Makes the given number of calls and returns the seconds they took, the device's work included.
  std::function<double(int64_t calls)> seconds;
  // These count the floating-point operations of one call in convolutions and matrix products, and
  // the bytes that it has to read and write at least, if every byte is touched once. 0 means not
  // counted.
  double flops = 0, bytes = 0;
};

struct Spread {
  double median = 0, least = 0, most = 0;
};

struct Measurement {
  std::string name;
  int64_t calls = 1;  // One measurement makes this many calls in a row.
  Spread seconds;     // Holds the seconds per call over the rounds.
  double flops = 0, bytes = 0;

  double flops_per_second() const { return flops / seconds.median; }
  double bytes_per_second() const { return bytes / seconds.median; }
};

// Returns the median and the extremes of at least one number.
Spread spread_of(std::vector<double> numbers);

// Wraps work that is timed from outside as a Stage's `seconds`.
std::function<double(int64_t)> timed(torch::Device device, std::function<void()> work);

struct MeasurementPlan {
  int64_t warm_up = 1, repeats = 1;  // There is at least one round of each.
};

// Measures the stages in the given order. Quick stages are repeated until one measurement lasts
// some milliseconds. on_stage receives the number of measurements made so far, warm-up included; it
// may throw.
std::vector<Measurement> measure(const std::vector<Stage>& stages, const MeasurementPlan& plan,
                                 const std::function<void(int64_t)>& on_stage);

}  // namespace isinglass
