// Computes the normal numbers of normal.h for many sites at once (CPU), with the same bits.
#pragma once

#include <algorithm>

#include "kernels/random/normal.h"

namespace isinglass::cpu {

constexpr int kNormalTile = 256;

// Writes the numbers of the sites first … first + count − 1. count is at most kNormalTile; both are
// multiples of 16.
void fill_normals(const PhiloxStream& draws, Purpose purpose, int64_t first, int count,
                  double* number);

// Calls f(site, number) for all sites of a chain.
template <class F>
void each_normal(const PhiloxStream& draws, Purpose purpose, int64_t sites, F f) {
  constexpr int kBlock = NormalCall::kBlockSites, kFew = 2;
  if (sites <= kFew) {  // For so few sites a vector of calls would be slower.
    for (int64_t n = 0; n < sites; ++n) each_normal_of(draws, purpose, {n}, sites, f);
    return;
  }
  double number[kNormalTile];
  for (int64_t first = 0; first < sites; first += kNormalTile) {
    const int wanted = static_cast<int>(std::min<int64_t>(kNormalTile, sites - first));
    fill_normals(draws, purpose, first, (wanted + kBlock - 1) / kBlock * kBlock, number);
    for (int i = 0; i < wanted; ++i) f(first + i, number[i]);
  }
}

}  // namespace isinglass::cpu
