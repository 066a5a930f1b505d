// Holds the proposal parameters that may differ between chains: the path radius R, the temperature
// τ, a step size, or the pair σ and α.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

// Refers to one row of parameters for all chains, or to one row per chain. It does not own the
// memory.
struct ChainScale {
  const double* values;
  // The next chain's row starts this many numbers further; 0 gives all chains the first row.
  int64_t stride = 0;

  ISINGLASS_HD ChainScale(const double* of_all) : values(of_all) {}
  ISINGLASS_HD ChainScale(const double* rows, int64_t numbers) : values(rows), stride(numbers) {}

  ISINGLASS_HD const double* row(int64_t chain) const { return values + chain * stride; }
  ISINGLASS_HD double operator[](int64_t chain) const { return *row(chain); }
};

}  // namespace isinglass
