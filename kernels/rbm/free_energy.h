// Computes the hidden inputs and the energy of a binary RBM, for chains of visible states that
// change a few units at a time:
//
//   a_h(y) = a_h(x) + Σ_{i: y_i ≠ x_i} (y_i − x_i) W_hi, or b_h + Σ_{i: y_i = 1} W_hi if y has
//            fewer units on than changed
//   U(y)   = −Σ_i b_i y_i − Σ_h softplus(a_h),   −∂U/∂a_h = σ(a_h)
//
// Inputs are kept in float64, so that they remain accurate along a long chain of moves. Units are
// added in ascending order, and energies in blocks of 32 (blocks.h). In a block
//
//   Σ softplus(a) = Σ max(a, 0) + log Π (1 + e^−|a|)
//
// takes only one logarithm, of a product of 32 numbers from 1 to 2.
#pragma once

#include <cstdint>

#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"

namespace isinglass {

struct HiddenShape {
  int64_t chains, visible, hidden;
};

struct HiddenWeights {
  const float* by_visible;      // [D, H]: Wᵀ
  const float* visible_biases;  // [D]
  const float* hidden_biases;   // [H]
};

// Holds the evaluation at x; the pointers are null if there is none.
struct HiddenStart {
  const uint8_t* x;      // [B, D]
  const double* inputs;  // [B, H]
};

struct HiddenUnits {
  double* inputs;  // [B, H]: a(y)
  double* energy;  // [B]
  float* on;       // [B, H]: σ(a). It is null if it is not wanted.
};

struct HiddenUnit {
  double positive;  // max(a, 0)
  double least;     // e^−|a|

  ISINGLASS_HD explicit HiddenUnit(double input)
      : positive(input > 0 ? input : 0.0),
        least(elementary::exp_below(input < 0 ? input : -input)) {}
  ISINGLASS_HD float sigmoid() const { return sigmoid(positive, least); }
  // Returns σ(a) of a unit, given its two numbers.
  ISINGLASS_HD static float sigmoid(double positive, double least) {
    return elementary::sigmoid(positive > 0, static_cast<float>(least));
  }
};

// Writes the inputs, energies and σ at y uint8 [B, D].
ISINGLASS_TWINS(move_hidden, const HiddenShape&, HiddenWeights, HiddenStart, const uint8_t* y,
                HiddenUnits, Stream)

}  // namespace isinglass
