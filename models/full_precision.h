// Full float32 precision for a scope: energies enter acceptances and weights, and LibTorch's own
// settings would let cuDNN's convolutions round their factors to 10 bits (TF32). What was set before
// is set again afterwards. Every computation of the library that calls models begins with one.
#pragma once

#include <string>

namespace isinglass {

class FullPrecision {
 public:
  FullPrecision();
  ~FullPrecision();
  FullPrecision(const FullPrecision&) = delete;
  FullPrecision& operator=(const FullPrecision&) = delete;

 private:
  bool convolutions_;     // whether cuDNN may use TF32
  std::string products_;  // LibTorch's word for the precision of matrix products
};

}  // namespace isinglass
