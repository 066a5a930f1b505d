// Patterns as the kernels see them.
#pragma once

#include "kernels/ops/check.h"
#include "kernels/ops/lattice.h"
#include "kernels/lattice/fast/neighbourhood_table.h"

namespace isinglass::ops {

// For states x [B, D].
inline SitePatterns pattern_pointers(const PatternTensors& p, const Tensor& x) {
  const int64_t sites = x.size(1);
  check(p.neighbour, x, torch::kInt32, sites * kPatternNeighbours, "neighbour");
  check(p.flip_energy, x, torch::kFloat64, sites * kPatterns, "flip_energy");
  check(p.half_flip, x, torch::kFloat64, sites * kPatterns, "half_flip");
  check(p.gradient, x, torch::kFloat32, sites * kPatterns, "gradient");
  check(p.undecided, x, torch::kUInt32, sites * kPatterns, "undecided");
  return {sites,
          p.constant,
          data<int32_t>(p.neighbour),
          data<double>(p.flip_energy),
          data<double>(p.half_flip),
          data<float>(p.gradient),
          data<uint32_t>(p.undecided)};
}

}  // namespace isinglass::ops
