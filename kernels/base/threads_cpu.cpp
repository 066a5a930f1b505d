// Implements the choice between one and all threads from the measured times of recent runs.
#include "kernels/base/threads_cpu.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#include <chrono>

namespace isinglass {
namespace {

constexpr long kLeastNumbers = 1 << 14;
// The weight of a run decays by this factor with each later run. The memory is long enough that a
// single interruption of some milliseconds by the system, which happens with one thread, too, does
// not outweigh what loops of a tenth of a millisecond gain.
constexpr double kMemory = 255.0 / 256;
// The next trial starts after this many times the duration of the last one.
constexpr double kRarely = 200;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Updates without a lock: an update made by another thread at the same time may be lost, which is
// harmless.
void decay_and_add(std::atomic<double>& sum, double value) {
  sum.store(kMemory * sum.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

}  // namespace

int most_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

double LoopTimes::Sums::seconds_per_number() const {
  const double count = numbers.load(std::memory_order_relaxed);
  return count > 0 ? seconds.load(std::memory_order_relaxed) / count : 0;
}

bool LoopTimes::all_are_faster() const {
  return all_.seconds_per_number() <= one_.seconds_per_number() ||
         one_.numbers.load(std::memory_order_relaxed) == 0;
}

bool LoopTimes::choose(double now) {
  if (trials_left_.load(std::memory_order_relaxed) > 0) {
    return trying_all_.load(std::memory_order_relaxed);
  }
  const bool all = all_are_faster();
  if (now < next_trial_.load(std::memory_order_relaxed)) return all;
  trying_all_.store(!all, std::memory_order_relaxed);
  trial_seconds_.store(0, std::memory_order_relaxed);
  trials_left_.store(kTrials, std::memory_order_relaxed);
  return !all;
}

void LoopTimes::add(bool all, double numbers, double start, double end) {
  // The first runs on all threads also create and place the threads, and do not count.
  if (all && cold_runs_.load(std::memory_order_relaxed) > 0) {
    cold_runs_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  Sums &sums = all ? all_ : one_, &others = all ? one_ : all_;
  decay_and_add(sums.seconds, end - start);
  decay_and_add(sums.numbers, numbers);
  const int left = trials_left_.load(std::memory_order_relaxed);
  if (left == 0 || all != trying_all_.load(std::memory_order_relaxed)) return;
  const double spent = trial_seconds_.load(std::memory_order_relaxed) + (end - start);
  trial_seconds_.store(spent, std::memory_order_relaxed);
  const bool both_known = others.numbers.load(std::memory_order_relaxed) > 0;
  if (left == 1) {
    next_trial_.store(both_known ? end + kRarely * spent : end, std::memory_order_relaxed);
  }
  trials_left_.store(left - 1, std::memory_order_relaxed);
}

TimedLoop::TimedLoop(LoopTimes& times, long numbers)
    : times_(numbers >= kLeastNumbers && most_threads() > 1 ? &times : nullptr),
      numbers_(static_cast<double>(numbers)) {
  if (!times_) return;
  start_ = seconds_now();
  all_ = times_->choose(start_);
}

TimedLoop::~TimedLoop() {
  if (times_) times_->add(all_, numbers_, start_, seconds_now());
}

}  // namespace isinglass
