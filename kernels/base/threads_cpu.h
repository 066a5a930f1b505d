// Decides whether a loop of a CPU kernel runs on all threads or on the caller's alone, by timing
// both. Draws do not depend on the number of threads, so that the choice changes nothing but time.
//
// All threads pay on a quiet machine and where a loop is long. They lose, by factors up to 20,
// where other processes have the cores: each loop ends with a barrier, and one thread that waits
// for a core holds up all others. The mean time per number of recent loops decides, for each loop
// of the sources apart; the slower way is tried again once in 200 times what its trial took.
#pragma once

#include <atomic>

namespace isinglass {

// Returns how many threads a loop of a kernel may use; 1 in a build without OpenMP.
int most_threads();

// The recent times of one loop. Several threads may use it at once.
class LoopTimes {
 public:
  // Returns whether the next run of the loop, which begins at `now` [s], is to use all threads.
  bool choose(double now);
  // Takes the times [s] of a run over so many numbers. `all`: what choose() returned for it.
  void add(bool all, double numbers, double start, double end);

 private:
  // Exponentially weighted sums over some 32 runs; no run: 0.
  struct Sums {
    std::atomic<double> seconds{0}, numbers{0};
    double seconds_per_number() const;
  };
  bool all_are_faster() const;

  Sums one_, all_;
  std::atomic<double> next_trial_{0}, trial_seconds_{0};
  std::atomic<int> trials_left_{0};
  std::atomic<bool> trying_all_{false};
};

// One run of a loop over so many numbers, from its construction to its destruction:
//   static LoopTimes times;
//   const TimedLoop loop(times, chains * sites);
//   #pragma omp parallel for schedule(static) if (loop.on_all_threads())
// Loops of fewer than 2^14 numbers, which take less time than waking a thread (some 10 µs), run on
// the caller's thread.
class TimedLoop {
 public:
  TimedLoop(LoopTimes& times, long numbers);
  ~TimedLoop();
  TimedLoop(const TimedLoop&) = delete;
  TimedLoop& operator=(const TimedLoop&) = delete;

  bool on_all_threads() const { return all_; }

 private:
  LoopTimes* times_;  // null: there is no choice, and nothing is timed
  double numbers_, start_ = 0;
  bool all_ = false;
};

}  // namespace isinglass
