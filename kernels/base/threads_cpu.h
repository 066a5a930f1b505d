// Decides by timing whether a loop of a CPU kernel runs on all threads or on the caller's alone.
// Random numbers do not depend on the number of threads, so that the choice affects only the time.
//
// All threads are faster on an idle machine and for long loops. They are slower, by factors up to
// 20, where other processes occupy the cores: each loop ends with a barrier, and one thread that
// waits for a core delays all others. For each loop of the source code, the mean time per number of
// its recent runs decides. The slower way is tried again after 200 times the duration of its last
// trial.
#pragma once

#include <atomic>

namespace isinglass {

// Returns how many threads a kernel loop may use; 1 in a build without OpenMP.
int most_threads();

// Holds the recent times of one loop. Thread-safe.
class LoopTimes {
 public:
  // Returns true if the next run of the loop, which begins at `now` [s], should use all threads.
  bool choose(double now);
  // Records a run over `numbers` numbers from `start` to `end` [s]. `all` is what choose() returned
  // for it.
  void add(bool all, double numbers, double start, double end);

 private:
  // A trial consists of this many successive runs.
  static constexpr int kTrials = 4;
  // Holds exponentially weighted sums over about the last 256 runs. Both are 0 before the first
  // run.
  struct Sums {
    std::atomic<double> seconds{0}, numbers{0};
    double seconds_per_number() const;
  };
  bool all_are_faster() const;

  Sums one_, all_;
  std::atomic<double> next_trial_{0}, trial_seconds_{0};
  // The first trial is of all threads, the second one of the caller's.
  std::atomic<int> trials_left_{2 * kTrials}, cold_runs_{kTrials};
  std::atomic<bool> trying_all_{true};
};

// Times one run of a loop over `numbers` numbers, from construction to destruction. Use:
//   static LoopTimes times;
//   const TimedLoop loop(times, chains * sites);
//   #pragma omp parallel for schedule(static) if (loop.on_all_threads())
// Loops of fewer than 2^14 numbers run on the caller's thread and are not timed, because they take
// less time than waking a thread (about 10 µs).
class TimedLoop {
 public:
  TimedLoop(LoopTimes& times, long numbers);
  ~TimedLoop();
  TimedLoop(const TimedLoop&) = delete;
  TimedLoop& operator=(const TimedLoop&) = delete;

  bool on_all_threads() const { return all_; }

 private:
  LoopTimes* times_;  // It is null if there is no choice, and then nothing is timed.
  double numbers_, start_ = 0;
  bool all_ = false;
};

}  // namespace isinglass
