// See diagonal_rules.h.
#include "engine/diagonal_rules.h"

namespace isinglass {
DiagonalBound max_rule(const torch::Tensor& W) {
  return bound_diagonal(W, DiagonalRule::kShift);
}
}  // namespace isinglass
