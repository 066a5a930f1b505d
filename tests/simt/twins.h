// Compares the CUDA twin of a kernel, run by the interpreter, with its CPU twin.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/simt/devices.h"
#include "tests/simt/interpreter.h"

namespace isinglass {

enum class Twin { kCpu, kCuda };

inline const std::vector<simt::Schedule>& schedules() {
  static const std::vector<simt::Schedule> all = {
      {.order = simt::Order::kForwards},
#ifndef ISINGLASS_COUNTED  // counts do not depend on the order
      {.order = simt::Order::kBackwards, .poison = 0xcd},
      {.order = simt::Order::kShuffled, .seed = 7, .poison = 0x3f},  // doubles of some 1e-4
      {.order = simt::Order::kShuffled, .seed = 8},
#endif
  };
  return all;
}

// run(twin) returns the kernel's output, comparable by ==. The CUDA twin must give the same output
// as the CPU twin in every order of its threads and, if any_block, for every block size.
template <class Run>
void expect_twins(Run run, bool any_block = false) {
  const auto expected = run(Twin::kCpu);
  for (simt::Schedule schedule : schedules()) {
    for (const unsigned threads : {0u, 1u, 33u, 96u}) {
      if (threads != 0 && !any_block) continue;
      schedule.threads = threads;
      simt::set_schedule(schedule);
      EXPECT_TRUE(run(Twin::kCuda) == expected)
          << "order " << static_cast<int>(schedule.order) << ", threads " << threads;
    }
  }
  simt::set_schedule({});
}

// Limits the shared memory of blocks to so many bytes during its lifetime.
class SharedMemory {
 public:
  explicit SharedMemory(int64_t bytes) { simt::set_shared_memory_limit(bytes); }
  ~SharedMemory() { simt::set_shared_memory_limit(simt::kHopper); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
};

// Seeded numbers for inputs.
class Inputs {
 public:
  explicit Inputs(uint64_t seed) : random_(seed) {}

  std::vector<uint8_t> states(int64_t count, int categories) {
    std::vector<uint8_t> x(count);
    for (uint8_t& v : x) v = static_cast<uint8_t>(random_() % categories);
    return x;
  }
  template <class Real>
  std::vector<Real> reals(int64_t count, double scale) {
    std::normal_distribution<double> normal(0, scale);
    std::vector<Real> x(count);
    for (Real& v : x) v = static_cast<Real>(normal(random_));
    return x;
  }
  std::vector<int64_t> ids(int64_t count) {
    std::vector<int64_t> x(count);
    for (int64_t& v : x) v = static_cast<int64_t>(random_() % 1000);
    return x;
  }

 private:
  std::mt19937_64 random_;
};

// Sizes that are not multiples of a warp or a block, and a single chain.
struct Size {
  int64_t chains, sites;
};
inline const std::vector<Size>& sizes() {
  static const std::vector<Size> all = {{1, 1}, {3, 7}, {2, 33}, {2, 100}, {1, 785}};
  return all;
}

}  // namespace isinglass
