// The numbers of a proposal that may differ between chains: R, τ, a step size, or σ and α.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

// One row of numbers for all chains, or a row a chain.
struct ChainScale {
  const double* values;
  int64_t stride = 0;  // from one chain's row to the next; 0: all have the first

  ISINGLASS_HD ChainScale(const double* of_all) : values(of_all) {}
  ISINGLASS_HD ChainScale(const double* rows, int64_t numbers) : values(rows), stride(numbers) {}

  ISINGLASS_HD const double* row(int64_t chain) const { return values + chain * stride; }
  ISINGLASS_HD double operator[](int64_t chain) const { return *row(chain); }
};

}  // namespace isinglass
