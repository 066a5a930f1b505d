// Processes eight chains at a time, one per vector lane (CPU). States are stored site by site, so
// that the values of a site in all eight chains form one vector. Each lane computes what a single
// chain would, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/thread_memory_cpu.h"
#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {

constexpr int kChainLanes = 8;

// Holds one number for each chain, in vectors of kBytes bytes.
template <int kBytes>
struct ChainLanes {
  using Part = Vector<double, kBytes>;
  static constexpr int kWidth = kBytes / sizeof(double), kParts = kChainLanes / kWidth;
  Part part[kParts];

  [[gnu::always_inline]] static ChainLanes all(double value) {
    return from([value](int) { return Part{} + value; });
  }
  [[gnu::always_inline]] double operator[](int l) const { return part[l / kWidth][l % kWidth]; }

  [[gnu::always_inline]] ChainLanes operator-() const {
    return from([&](int p) { return -part[p]; });
  }
  [[gnu::always_inline]] ChainLanes operator+(const ChainLanes& other) const {
    return from([&](int p) { return part[p] + other.part[p]; });
  }
  [[gnu::always_inline]] ChainLanes operator-(const ChainLanes& other) const {
    return from([&](int p) { return part[p] - other.part[p]; });
  }
  [[gnu::always_inline]] ChainLanes operator*(const ChainLanes& other) const {
    return from([&](int p) { return part[p] * other.part[p]; });
  }
  [[gnu::always_inline]] ChainLanes& operator+=(const ChainLanes& other) {
    return *this = *this + other;
  }
  [[gnu::always_inline]] ChainLanes& operator-=(const ChainLanes& other) {
    return *this = *this - other;
  }
  // Returns a where x and y are equal, and b elsewhere.
  [[gnu::always_inline]] static ChainLanes where_equal(const ChainLanes& x, const ChainLanes& y,
                                                       const ChainLanes& a, const ChainLanes& b) {
    return from([&](int p) { return x.part[p] == y.part[p] ? a.part[p] : b.part[p]; });
  }

 private:
  template <class F>
  [[gnu::always_inline]] static ChainLanes from(F f) {
    ChainLanes result;
    for (int p = 0; p < kParts; ++p) result.part[p] = f(p);
    return result;
  }
};

template <int kBytes>
[[gnu::always_inline]] inline ChainLanes<kBytes>& lanes_at(double* lanes, int64_t i) {
  return *reinterpret_cast<ChainLanes<kBytes>*>(lanes + i * kChainLanes);
}

// Copies x [B, D] of 1 ≤ B ≤ 8 chains into lanes [D, 8]. Lanes beyond B repeat the last chain.
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

// lane_scratch() returns the calling thread's memory for the lanes of `sites` sites, which is kept
// between calls. reserve_lane_scratch() makes room for it before a parallel region, on all threads.
inline double* lane_scratch(int64_t sites) {
  thread_local std::vector<double> lanes;
  const auto size = static_cast<std::size_t>(kChainLanes * sites);
  if (lanes.size() < size) lanes.resize(size);
  return lanes.data();
}
inline void reserve_lane_scratch(bool parallel, int64_t sites) {
  thread_local int64_t reserved = 0;
  reserve_on_threads(parallel, reserved, sites, [=] { lane_scratch(sites); });
}

}  // namespace isinglass::cpu
