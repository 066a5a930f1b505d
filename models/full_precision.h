// Guarantees full float32 precision within a scope, and convolutions with the same bits in every
// run. Energies enter acceptance probabilities and weights, and LibTorch's default settings allow
// cuDNN's convolutions to round their inputs to a 10-bit mantissa (TF32), and their gradients to be
// added up in any order (cuDNN's atomic additions). The settings belong to the process: the first
// scope among all threads changes them, and the last one restores the previous values. Every
// computation of the library that calls models opens such a scope first.
#pragma once

namespace isinglass {

class FullPrecision {
 public:
  FullPrecision();
  ~FullPrecision();
  FullPrecision(const FullPrecision&) = delete;
  FullPrecision& operator=(const FullPrecision&) = delete;
};

}  // namespace isinglass
