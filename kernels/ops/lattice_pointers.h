// A lattice as the kernels see it.
#pragma once

#include "kernels/lattice/lattice.h"
#include "kernels/ops/check.h"
#include "kernels/ops/lattice.h"

namespace isinglass::ops {

// For states x [B, D].
inline Lattice lattice_pointers(const LatticeTensors& l, const Tensor& x) {
  TORCH_CHECK(x.dim() == 2 && l.unary.dim() == 2 && l.unary.size(0) == x.size(1),
              "isinglass operator: unary must be [D, K] for states [B, D]");
  check(x, x, torch::kUInt8, x.numel(), "x");
  check(l.unary, x, torch::kFloat64, l.unary.numel(), "unary");
  check(l.offset, x, torch::kInt64, x.size(1) + 1, "offset");
  check(l.neighbour, x, torch::kInt32, l.neighbour.numel(), "neighbour");
  check(l.coupling, x, torch::kFloat64, l.neighbour.numel(), "coupling");
  return {x.size(1),
          static_cast<int>(l.unary.size(1)),
          data<double>(l.unary),
          data<int64_t>(l.offset),
          data<int32_t>(l.neighbour),
          data<double>(l.coupling),
          l.constant};
}

}  // namespace isinglass::ops
