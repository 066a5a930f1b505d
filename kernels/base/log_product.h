// Computes Σ log p_i for many positive numbers. It multiplies them and takes a logarithm only when
// the product would leave the range in which no digits are lost.
#pragma once

#include "kernels/base/elementary.h"
#include "kernels/base/host_device.h"

namespace isinglass {

// Returns true if p is far from overflow and from denormal numbers. Returns false for NaN.
ISINGLASS_HD inline bool in_range(double p) {
  return p >= 1e-290 && p <= 1e290;
}

class LogProduct {
 public:
  ISINGLASS_HD void multiply(double p) {
    if (!in_range(product_ * p)) take_logarithm();
    product_ *= p;
  }
  ISINGLASS_HD void add(double log_p) { sum_ += log_p; }
  ISINGLASS_HD double log() {
    take_logarithm();
    return sum_;
  }

 private:
  ISINGLASS_HD void take_logarithm() {
    sum_ += elementary::log(product_);
    product_ = 1;
  }

  double sum_ = 0, product_ = 1;
};

}  // namespace isinglass
