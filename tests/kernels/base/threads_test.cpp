// The choice of threads for a loop, tested against a simulated clock: the time of a run on one
// thread and on all is known, and therefore so is the share of time lost to trials and to late
// changes.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "kernels/base/threads_cpu.h"

namespace isinglass::threads_test {
namespace {

constexpr double kNumbers = 1e5;

// Runs the loop from `now` until `end` [s]. one, all: the seconds of the n-th run on one thread and
// on all. Returns the number of runs made.
template <class One, class All>
int64_t run_until(LoopTimes& times, double& now, double end, One one, All all) {
  int64_t runs = 0;
  for (; now < end; ++runs) {
    const bool on_all = times.choose(now);
    const double seconds = on_all ? all(runs) : one(runs);
    times.add(on_all, kNumbers, now, now + seconds);
    now += seconds;
  }
  return runs;
}

auto always(double seconds) {
  return [seconds](int64_t) { return seconds; };
}

TEST(LoopTimes, AllThreadsCostNothingWhereTheyPay) {
  for (const double ratio : {0.1, 0.5, 0.9}) {
    LoopTimes times;
    double now = 100;
    const double one = 50e-6, all = ratio * one;
    const int64_t runs = run_until(times, now, 105, always(one), always(all));
    // A trial's four runs take 200 times as long as they did until the next one.
    EXPECT_GT(static_cast<double>(runs), 0.98 * 5 / all) << ratio;
  }
}

// The first runs create the threads, and the system interrupts one run for some milliseconds.
TEST(LoopTimes, AColdStartAndOneInterruptionDoNotDecide) {
  LoopTimes times;
  double now = 100;
  const auto all = [](int64_t run) { return run < 4 ? 9e-3 : run == 300 ? 6e-3 : 0.3e-3; };
  const int64_t runs = run_until(times, now, 101, always(0.5e-3), all);
  EXPECT_GT(static_cast<double>(runs), 0.98 * (1 - 4 * 9e-3 - 6e-3) / 0.3e-3);
}

TEST(LoopTimes, OneThreadIsTakenWhereAllWaitForACore) {
  LoopTimes times;
  double now = 100;
  // Most runs are fast on all threads, one of eight waits for a time slice.
  const auto all = [](int64_t run) { return run % 8 == 0 ? 8e-3 : 15e-6; };
  const int64_t runs = run_until(times, now, 110, always(20e-6), all);
  EXPECT_GT(static_cast<double>(runs), 0.95 * 10 / 20e-6);
}

TEST(LoopTimes, FollowsAMachineThatBecomesBusyAndQuietAgain) {
  LoopTimes times;
  double now = 0;
  run_until(times, now, 5, always(20e-6), always(12e-6));
  run_until(times, now, 6, always(20e-6), always(8e-3));  // a second to notice, 32 runs or fewer
  const int64_t busy = run_until(times, now, 16, always(20e-6), always(8e-3));
  EXPECT_GT(static_cast<double>(busy), 0.95 * 10 / 20e-6);
  run_until(times, now, now + 30, always(20e-6), always(12e-6));
  const int64_t quiet = run_until(times, now, now + 5, always(20e-6), always(12e-6));
  EXPECT_GT(static_cast<double>(quiet), 0.97 * 5 / 12e-6);
}

// Python calls kernels from several threads at once.
TEST(LoopTimes, SeveralThreadsMayUseIt) {
  LoopTimes times;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      double now = 1;
      run_until(times, now, 2, always(20e-6), always(12e-6));
    });
  }
  for (std::thread& thread : threads) thread.join();
  double now = 3;
  const int64_t runs = run_until(times, now, 8, always(20e-6), always(12e-6));
  EXPECT_GT(static_cast<double>(runs), 0.97 * 5 / 12e-6);
}

TEST(TimedLoop, ShortLoopsStayOnTheCallersThread) {
  LoopTimes times;
  for (int i = 0; i < 100; ++i) {
    const TimedLoop loop(times, 1000);
    EXPECT_FALSE(loop.on_all_threads());
  }
}

}  // namespace
}  // namespace isinglass::threads_test
