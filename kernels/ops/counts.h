// The statistics of a step as the kernels see them.
#pragma once

#include "kernels/accept/metropolis.h"
#include "kernels/ops/metropolis.h"
#include "kernels/ops/check.h"

namespace isinglass::ops {

inline StepCounts count_pointers(const StepBuffers& counts, const Tensor& like, int64_t chains) {
  check(counts.acceptance, like, torch::kFloat64, chains, "acceptance");
  check(counts.hops, like, torch::kInt64, chains, "hops");
  check(counts.acceptance_sum, like, torch::kFloat64, chains, "acceptance_sum");
  check(counts.hops_sum, like, torch::kInt64, chains, "hops_sum");
  check(counts.non_finite, like, torch::kInt64, chains, "non_finite");
  return {data<double>(counts.acceptance), data<int64_t>(counts.hops),
          data<double>(counts.acceptance_sum), data<int64_t>(counts.hops_sum),
          data<int64_t>(counts.non_finite)};
}

}  // namespace isinglass::ops
