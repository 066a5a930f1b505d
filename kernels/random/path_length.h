// Draws the random length L of a path, or number of flips, with real-valued mean R ≥ 1, so that R
// can be adapted: n = ⌊2R − 1⌋ + Bernoulli(frac(2R − 1)), L ~ Uniform{1 … n}. L does not depend on
// the state.
#pragma once

#include <cmath>

#include "kernels/random/philox.h"

namespace isinglass {

ISINGLASS_HD inline int64_t draw_path_length(const PhiloxStream& draws, double radius,
                                             int64_t max_length) {
  const double width = 2 * radius - 1;
  const double whole = floor(width);
  double n = whole + (draws.uniform(Purpose::kLength, 0) < width - whole ? 1 : 0);
  n = n < 1 ? 1 : n;
  const double most = static_cast<double>(max_length);
  n = n > most ? most : n;
  return 1 + draws.below(static_cast<uint32_t>(n), Purpose::kLength, 1);
}

}  // namespace isinglass
