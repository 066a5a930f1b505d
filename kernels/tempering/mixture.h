// Computes the energies of a tempered path, and their gradients or differences:
//
//   U_β = U_0 + β (U − U_0);  U_0 at β = 0 and U at β = 1, whatever the other one is
//
// A state that either end forbids (an energy of +∞) is therefore forbidden in between, and at an
// end as that end has it. Without U_0 the result is β·U, which is 0 at β = 0.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/host_device.h"

namespace isinglass {

template <class T>
ISINGLASS_HD inline T mixed(T start, T target, T beta) {
  if (beta == 0) return start;
  if (beta == 1) return target;
  const T difference = target - start;
  if (std::isfinite(difference)) return start + beta * difference;
  return (1 - beta) * start + beta * target;
}

template <class T>
struct Mixture {
  int64_t rows, columns, betas;  // Every rows / betas successive rows have the same β.
  const T* start;                // [rows, columns], or one row for all rows. Null means zeros.
  bool one_start;
  const T* target;     // [rows, columns]
  const double* beta;  // [betas]
  T* out;              // [rows, columns]

  ISINGLASS_HD void row(int64_t r, int64_t first, int64_t stride) const {
    const T own = static_cast<T>(beta[r / (rows / betas)]);
    const T* from = start ? start + (one_start ? 0 : r * columns) : nullptr;
    for (int64_t j = first; j < columns; j += stride) {
      out[r * columns + j] = mixed(from ? from[j] : T{0}, target[r * columns + j], own);
    }
  }
};

ISINGLASS_TWINS(mix, const Mixture<double>&, Stream)
ISINGLASS_TWINS(mix, const Mixture<float>&, Stream)

}  // namespace isinglass
