// Collective stop and save flags: a flag that one rank raises takes effect on all ranks before the
// same step.
//
// Every rank calls the object before every step. The flags are combined by an asynchronous
// all-reduce about four times a second. A rank acts on the result of the previous reduction, so
// that no rank blocks unless it lags behind by a whole interval. The number of steps from one
// reduction to the next is computed from the step times of all ranks, and is therefore the same on
// all of them. A single rank gets its flags back at once.
#pragma once

#include <chrono>
#include <functional>
#include <future>

#include "engine/context.h"

namespace isinglass {

struct StopFlags {
  bool stop = false, save = false;
};

class StopConsensus {
 public:
  explicit StopConsensus(const Ranks& ranks) : ranks_(ranks) {}

  // Returns the flags that take effect now. A rank's own flags are kept until the next reduction.
  StopFlags operator()(StopFlags own);

 private:
  using Clock = std::chrono::steady_clock;

  // Returns the flags that the previous reduction combined, and sets the length of the next
  // interval.
  StopFlags exchange();

  const Ranks& ranks_;
  StopFlags own_;
  std::future<torch::Tensor> combined_;
  int64_t calls_ = 0, until_exchange_ = 1;
  Clock::time_point last_exchange_ = Clock::now();
};

// Runs the work on every rank; all ranks call this together, and the work must not communicate. If
// the work throws NonFinite on one rank, every rank throws NonFinite with that rank's message, so
// that no rank goes on to wait for it.
void fail_together(const Ranks& ranks, const std::function<void()>& work);

}  // namespace isinglass
