// Checks tensors and returns their pointers in the structs that the kernels take.
#pragma once

#include "kernels/accept/step_counts.h"
#include "kernels/lattice/fast/neighbourhood_table.h"
#include "kernels/lattice/lattice.h"
#include "kernels/ops/check.h"
#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

// Returns the pointers of the statistics of a step.
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

// Returns the pointers of a lattice, for states x [B, D].
inline Lattice lattice_pointers(const LatticeTensors& l, const Tensor& x) {
  TORCH_CHECK(x.dim() == 2 && l.unary.dim() == 2 && l.unary.size(0) == x.size(1),
              "isinglass operator: unary must be [D, K] for states [B, D]");
  check_numbered(x.size(1), "sites");
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

// Returns the pointers of a lattice's neighbourhood tables, for states x [B, D].
inline NeighbourhoodTable neighbourhood_pointers(const NeighbourhoodTensors& p, const Tensor& x) {
  const int64_t sites = x.size(1);
  check(p.neighbour, x, torch::kInt32, sites * kTableNeighbours, "neighbour");
  check(p.flip_energy, x, torch::kFloat64, sites * kNeighbourhoods, "flip_energy");
  check(p.half_flip, x, torch::kFloat64, sites * kNeighbourhoods, "half_flip");
  check(p.gradient, x, torch::kFloat32, sites * kNeighbourhoods, "gradient");
  check(p.threshold_word, x, torch::kUInt32, sites * kNeighbourhoods, "threshold_word");
  return {sites,
          p.constant,
          data<int32_t>(p.neighbour),
          data<double>(p.flip_energy),
          data<double>(p.half_flip),
          data<float>(p.gradient),
          data<uint32_t>(p.threshold_word)};
}

}  // namespace isinglass::ops
