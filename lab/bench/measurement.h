// Times of stages of work, measured in turn: rounds with one measurement of each, the first ones as
// warm-up, then medians and spread. Noise that comes and goes meets all stages alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/torch.h"

namespace isinglass {

struct Stage {
  std::string name;
  // Makes so many calls and returns the seconds they took, the device's work included.
  std::function<double(int64_t calls)> seconds;
  // A call: in convolutions and matrix products; and what it has to read and write at least, were
  // every byte touched once. 0: not counted.
  double flops = 0, bytes = 0;
};

struct Spread {
  double median = 0, least = 0, most = 0;
};

struct Measurement {
  std::string name;
  int64_t calls = 1;  // in a row, one measurement
  Spread seconds;     // a call, over the rounds
  double flops = 0, bytes = 0;

  double flops_per_second() const { return flops / seconds.median; }
  double bytes_per_second() const { return bytes / seconds.median; }
};

// Of at least one number.
Spread spread_of(std::vector<double> numbers);

// A Stage's `seconds` of work that is timed from outside.
std::function<double(int64_t)> timed(torch::Device device, std::function<void()> work);

struct MeasurementPlan {
  int64_t warm_up = 1, repeats = 1;  // rounds, at least one each
};

// The stages in their order. Quick ones are repeated until a measurement lasts some milliseconds.
// on_stage is told the number of measurements made, warm-up included; it may throw.
std::vector<Measurement> measure(const std::vector<Stage>& stages, const MeasurementPlan& plan,
                                 const std::function<void(int64_t)>& on_stage);

}  // namespace isinglass
