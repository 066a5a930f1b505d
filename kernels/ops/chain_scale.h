// Converts tensors of proposal parameters for the kernels. Only sources of kernels/ops/ include it.
#pragma once

#include "kernels/base/chain_scale.h"
#include "kernels/ops/check.h"

namespace isinglass::ops {

// Checks a tensor float64 [n], shared by all chains, or [B, n], one row per chain.
inline ChainScale chain_scale(const Tensor& scale, const Tensor& like, int64_t chains,
                              int64_t numbers, const char* name) {
  const bool own = scale.defined() && scale.dim() == 2;
  check(scale, like, torch::kFloat64, own ? chains * numbers : numbers, name);
  return {data<double>(scale), own ? numbers : 0};
}

}  // namespace isinglass::ops
