// Makes values equal that differ by rounding alone, for statistics of ranks and for counts of
// values.
//
// The computed energy of a state depends on how the chain reached it: steps that know the change of
// the energy add it up, and a network's sums depend on the state's place in its batch. Ranks would
// order these values chain by chain, and R̂ would find differences that do not exist.
//
// The rule: the sorted values are cut into groups. A group starts at the least value x that is in
// no group yet, and contains all values up to δ(x) above it; all its values become that least one.
// The groups are thus a partition that depends on the values but not on their order. No group is
// wider than δ, however many values follow each other, and values farther apart than δ stay apart.
//
//   δ(x) = max(rounding · |x|, rounding · median |x|, min(rounding, kCarriedRounding) · max |x|)
//
// The rounding of a sum is relative to its intermediate values, which are about as large as usual
// values. The largest value may be an outlier, such as the energy of a far start or a forbidden
// state, which would make ties of all other values. It bounds only the rounding that is carried
// from state to state:
//   kCarriedRounding  N additions of float64 numbers have an error of some √N·2⁻⁵³, which is 2⁻⁴²
//                     after N = 2²², for each of two values; the recorder re-evaluates before that
//   kFloatRounding    sums of float32 numbers in another order differ by a few units of 2⁻²⁴; the
//                     bound is 16 of them
#pragma once

#include "io/torch.h"

namespace isinglass {

inline constexpr double kCarriedRounding = 0x1p-40, kFloatRounding = 0x1p-20;

// Returns the rounding of energies that a model returns as numbers of this type.
inline double rounding_of(torch::ScalarType type) {
  return type == torch::kFloat64 ? kCarriedRounding : kFloatRounding;
}

// Holds δ(x) = max(least, relative · |x|).
struct TieWidth {
  double least, relative = 0;
};

// Returns δ of these values; 0 if none is finite.
TieWidth tie_width(const torch::Tensor& values, double rounding);

// Returns the values with ties merged, float64 of the same shape, on the CPU. Values that are not
// finite stay as they are.
torch::Tensor merge_ties(const torch::Tensor& values, TieWidth width);

}  // namespace isinglass
