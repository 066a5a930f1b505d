// Computes the first-order difference of a one-site move, d = s_{i,to} − s_{i,from} ≈ U(x) − U(y),
// where s = −∇U is the score at x. Locally balanced weights g(e^d) and transition rows are built
// from it. For a chain at inverse temperature β the gradient is β∇U, rounded to float32 like every
// gradient.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

// Returns d for binary and ordered values: gradient [D], s_{i,k} = k·s_i.
ISINGLASS_HD inline double ordered_difference(const float* gradient, int64_t site, int from, int to,
                                              float beta = 1) {
  return static_cast<double>(from - to) * (beta * gradient[site]);
}

// Returns d for one-hot values: gradient [D, K].
ISINGLASS_HD inline double one_hot_difference(const float* gradient, int categories, int64_t site,
                                              int from, int to, float beta = 1) {
  const float* row = gradient + site * categories;
  return static_cast<double>(beta * row[from]) - beta * row[to];
}

// Returns d for the flip of a binary site, in float32, from the site's gradient.
ISINGLASS_HD inline float flip_difference(float gradient, int from) {
  return static_cast<float>(2 * from - 1) * gradient;
}

}  // namespace isinglass
