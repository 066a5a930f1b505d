// Eight chains at a time, a lane of a vector each (CPU). States lie site by site, so that a site's
// values in all chains are one vector; each lane computes what one chain alone would, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/thread_memory_cpu.h"
#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {

constexpr int kChainLanes = 8;

// A number of each chain, in vectors of so many bytes.
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
  // a where x and y are equal, elsewhere b.
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

// This thread's lanes of so many sites, kept between calls; and room for them, in a parallel region
// on all threads.
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
