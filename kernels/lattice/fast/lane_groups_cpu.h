// Processes sixteen chains at a time on a graph with a neighbourhood table (neighbourhood_table.h,
// CPU). This file chooses the chains of a group, draws their random numbers and stores their lanes.
// Lanes hold the states site by site as bytes, [D + 1, 16]; the last row stands for missing
// neighbours and is 0. The rows are padded to a multiple of sixteen; the padding has no meaning.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/base/blocks.h"
#include "kernels/base/host_device.h"
#include "kernels/base/threads_cpu.h"
#include "kernels/random/fast/philox_cpu.h"

namespace isinglass::cpu {

constexpr int kChains16 = 16;

// Holds one number of each chain for each of 32 sites or ranks, [32, 16].
template <class T>
struct BlockOf {
  alignas(64) T number[kBlockSites * kChains16];

  T* row(int64_t i) { return number + i * kChains16; }
  const T* row(int64_t i) const { return number + i * kChains16; }
};

// Computes PhiloxStream::site_word() for the sixteen chains and a block of 32 sites or ranks.
class BlockNumbers {
 public:
  // `draws` [16] are the chains' random numbers.
  BlockNumbers(const PhiloxStream* draws, Purpose purpose) : draws_(*draws), purpose_(purpose) {
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

  PhiloxStream draws_;
  Purpose purpose_;
  alignas(64) uint32_t chain_[kCount], position_[kCount];
};

// A thread works on this many groups of sixteen chains together, one block of sites after the
// other, so that what the first group looks up is in the nearest cache for the others.
constexpr int64_t kLaneGroups = 4;

// lane_states() returns the calling thread's memory for the lanes of `states` states, which is kept
// between calls and starts at a cache line. reserve_lane_states() makes room for it before a
// parallel region, on all threads.
uint8_t* lane_states(int64_t states, int64_t sites);
void reserve_lane_states(bool parallel, int64_t states, int64_t sites);

// Calls work(first, end) for ranges of groups that cover all chains, at most kLaneGroups groups at
// a time, on threads that have room for the lanes of `states` states. `steps` serves the timing.
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

// Holds the chains of a group, 1 ≤ count ≤ 16, with their random numbers and states. Entries beyond
// `count` repeat the last chain.
struct LaneGroup {
  int64_t count;
  int64_t chain[kChains16];
  PhiloxStream draws[kChains16];
  uint8_t* state[kChains16];

  // Takes the chains order[16·number], order[16·number + 1], …, or these numbers themselves if
  // `order` is null. x [B, D]. The random numbers are those of the step `steps_ahead` after the
  // present one.
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

// Returns the size of one group's lanes [bytes].
inline int64_t lane_bytes(int64_t sites) {
  return (sites / kChains16 + 1) * kChains16 * kChains16;
}

}  // namespace isinglass::cpu
