// Values that differ by rounding alone, made equal, for statistics of ranks and counts of values.
//
// The energy of a state has as many values as there are ways to it: steps that know the change of
// the energy add it up, and a network's sums depend on a state's place in its batch. Ranks would
// order these values, chain by chain, and R̂ would find differences where there are none.
//
// The rule: with δ = rounding · max |x| over all finite values, sorted values are cut into groups.
// A group begins at the least value that is in none yet and holds all up to δ above it; its values
// become its least one. So the groups are a partition that depends on the values and not on their
// order, no group is wider than δ however many values follow each other, and values farther apart
// than δ stay apart.
//
// The bound, relative to the largest value because a sum's rounding is relative to what it passes:
//   kCarriedRounding  N additions of float64 numbers err by some √N·2⁻⁵³, 2⁻⁴² after N = 2²² of
//                     them, and both of two values do; the recorder evaluates anew before
//   kFloatRounding    sums of float32 numbers in another order differ by a few units of 2⁻²⁴: 16
#pragma once

#include "io/torch.h"

namespace isinglass {

inline constexpr double kCarriedRounding = 0x1p-40, kFloatRounding = 0x1p-20;

// The rounding of energies that a model returns as numbers of this type.
inline double rounding_of(torch::ScalarType type) {
  return type == torch::kFloat64 ? kCarriedRounding : kFloatRounding;
}

// δ of these values; 0 where none is finite.
double tie_width(const torch::Tensor& values, double rounding);

// float64, of the same shape, on the CPU. Values that are not finite stay as they are.
torch::Tensor merge_ties(const torch::Tensor& values, double width);

}  // namespace isinglass
