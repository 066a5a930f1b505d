// Eight chains at a time, a lane of a vector each (CPU). States lie site by site, so that a site's
// values in all chains are one vector; each lane computes what one chain alone would, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {

constexpr int kChainLanes = 8;
static_assert(sizeof(Lanes) == kChainLanes * sizeof(double));

[[gnu::always_inline]] inline Lanes& lanes_at(double* lanes, int64_t i) {
  return *reinterpret_cast<Lanes*>(lanes + i * kChainLanes);
}

// x [B, D] of 1 ≤ B ≤ 8 chains as lanes [D, 8]; lanes beyond B repeat the last chain.
[[gnu::always_inline]] inline void fill_lanes(const uint8_t* x, int64_t chains, int64_t sites,
                                              double* lanes) {
  const uint8_t* chain[kChainLanes];
  for (int64_t l = 0; l < kChainLanes; ++l) {
    chain[l] = x + (l < chains ? l : chains - 1) * sites;
  }
  for (int64_t i = 0; i < sites; ++i) {
    for (int l = 0; l < kChainLanes; ++l) lanes[i * kChainLanes + l] = chain[l][i];
  }
}

// This thread's lanes of so many sites, kept between calls.
inline double* lane_scratch(int64_t sites) {
  thread_local std::vector<double> lanes;
  const auto size = static_cast<std::size_t>(kChainLanes * sites);
  if (lanes.size() < size) lanes.resize(size);
  return lanes.data();
}

}  // namespace isinglass::cpu
