// Full float32 precision for a scope: energies enter acceptances and weights, and LibTorch's own
// settings would let cuDNN's convolutions round their factors to 10 bits (TF32). The settings are the
// process's: they are set by the first scope of all threads, and what was before is set again by the
// last one. Every computation of the library that calls models begins with one.
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
