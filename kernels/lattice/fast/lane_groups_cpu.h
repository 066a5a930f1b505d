// Sixteen chains at a time on a graph with a neighbourhood table (neighbourhood_table.h): which they
// are, their random numbers, and their lanes, in which states lie site by site as bytes, [D + 1, 16];
// the last row is the neighbour that sites lack (CPU). Rows behind it fill up sixteen, and mean
// nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/base/blocks.h"
#include "kernels/base/host_device.h"
#include "kernels/base/threads_cpu.h"
#include "kernels/random/fast/philox_cpu.h"

namespace isinglass::cpu {

constexpr int kChains16 = 16;

// Of 32 sites or ranks a number of every chain, [32, 16].
template <class T>
struct BlockOf {
  alignas(64) T number[kBlockSites * kChains16];

  T* row(int64_t i) { return number + i * kChains16; }
  const T* row(int64_t i) const { return number + i * kChains16; }
};

// site_word() of blocks of 32 sites or ranks.
class BlockNumbers {
 public:
  // draws [16]
  BlockNumbers(const Draws* draws, Purpose purpose) : draws_(*draws), purpose_(purpose) {
    for (int i = 0; i < kCount; ++i) {
      chain_[i] = draws[i % kChains16].chain;
      position_[i] = static_cast<uint32_t>(i / kChains16);
    }
  }
  void fill(int64_t block, BlockOf<uint32_t>& words) const {
    philox_words(draws_.seed, draws_.step, purpose_, kCount, chain_, position_,
                 static_cast<uint32_t>(block * kCalls), words.number);
  }

 private:
  static constexpr int kCalls = kBlockSites / 4, kCount = kCalls * kChains16;

  Draws draws_;
  Purpose purpose_;
  alignas(64) uint32_t chain_[kCount], position_[kCount];
};

// Groups of sixteen chains that a thread works on together, a block of sites after the other: what
// the first one has looked up is in the nearest cache for the others.
constexpr int64_t kLaneGroups = 4;

// This thread's lanes of so many states, kept between calls, at a cache line's start; and room for
// them, in a parallel region on all threads.
uint8_t* lane_states(int64_t states, int64_t sites);
void reserve_lane_states(bool parallel, int64_t states, int64_t sites);

// Calls work(first, end) for the groups of so many chains, at most kLaneGroups of them at a time,
// on threads that have room for the lanes of so many states.
template <class F>
void for_lane_groups(int64_t chains, int64_t steps, int64_t sites, int64_t states, F work) {
  const int64_t groups = (chains + kChains16 - 1) / kChains16;
  const int64_t threads = std::min<int64_t>(groups, most_threads());
  const int64_t parts = std::max(threads, (groups + kLaneGroups - 1) / kLaneGroups);
  static LoopTimes loop_times;
  const TimedLoop loop(loop_times, steps * chains * sites);
  reserve_lane_states(loop.on_all_threads(), states, sites);
#pragma omp parallel for schedule(static) if (loop.on_all_threads())
  for (int64_t part = 0; part < parts; ++part) {
    work(groups * part / parts, groups * (part + 1) / parts);
  }
}

// A group's chains, 1 ≤ count ≤ 16, with their draws and states; those beyond count repeat the last.
struct LaneGroup {
  int64_t count;
  int64_t chain[kChains16];
  Draws draws[kChains16];
  uint8_t* state[kChains16];

  // The chains of places 16·number … of `order`, null: as they are numbered; x [B, D]. The step that
  // is `steps_ahead` steps after the present one.
  LaneGroup(int64_t number, int64_t chains, const int64_t* order, const int64_t* rng,
            const int64_t* chain_ids, int64_t steps_ahead, uint8_t* x, int64_t sites)
      : count(std::min<int64_t>(kChains16, chains - number * kChains16)) {
    for (int64_t l = 0; l < kChains16; ++l) {
      const int64_t place = number * kChains16 + std::min(l, count - 1);
      chain[l] = order ? order[place] : place;
      draws[l] = step_draws(rng, chain_ids[chain[l]], steps_ahead);
      state[l] = x + chain[l] * sites;
    }
  }
};

// The bytes of a state's lanes.
inline int64_t lane_bytes(int64_t sites) {
  return (sites / kChains16 + 1) * kChains16 * kChains16;
}

}  // namespace isinglass::cpu
