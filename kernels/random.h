// Independent random sites: initial states, binarised images, restarted chains. Each number comes
// from Philox at (chain = id of the row, step, purpose, position = site).
#pragma once

#include <cstdint>

#include "kernels/host_device.h"
#include "kernels/philox.h"

namespace isinglass {

struct RowDraws {
  int64_t rows, sites;
  const int64_t* ids;  // [rows]
  uint64_t seed;
  uint32_t step;
  Purpose purpose;

  ISINGLASS_HD Draws row(int64_t r) const { return {seed, static_cast<uint32_t>(ids[r]), step}; }
};

namespace cpu {
// out uint8 [rows, D] ~ Bernoulli(p); row r's probabilities start at p + r·stride (stride 0:
// shared).
void bernoulli_rows(const RowDraws&, const float* p, int64_t stride, uint8_t* out, Stream);
// out uint8 [rows, D] uniform in 0 … categories − 1.
void uniform_rows(const RowDraws&, int categories, uint8_t* out, Stream);
}  // namespace cpu

namespace cuda {
void bernoulli_rows(const RowDraws&, const float* p, int64_t stride, uint8_t* out, Stream);
void uniform_rows(const RowDraws&, int categories, uint8_t* out, Stream);
}  // namespace cuda

}  // namespace isinglass
