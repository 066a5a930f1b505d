// Scales of proposals as kernels see them. Included by the sources of kernels/ops/ only.
#pragma once

#include "kernels/base/chain_scale.h"
#include "kernels/ops/check.h"

namespace isinglass::ops {

// float64 [n] for all chains, or [B, n], a row a chain.
inline ChainScale chain_scale(const Tensor& scale, const Tensor& like, int64_t chains,
                              int64_t numbers, const char* name) {
  const bool own = scale.defined() && scale.dim() == 2;
  check(scale, like, torch::kFloat64, own ? chains * numbers : numbers, name);
  return {data<double>(scale), own ? numbers : 0};
}

}  // namespace isinglass::ops
