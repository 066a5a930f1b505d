// Computes Categorical (categorical.h) for many values with vector instructions (CPU). It stores
// the weights in arrays; the results are the same bits for log weights that are finite or −∞.
// Construct it only in functions marked ISINGLASS_FLAT_CLONES (vectors_cpu.h), so that the loops
// are vectorised.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/base/blocks.h"
#include "kernels/base/categorical.h"
#include "kernels/base/vectors_cpu.h"

namespace isinglass::cpu {

class WrittenCategorical {
 public:
  static constexpr int kMostValues = 256;
  static constexpr int kFewValues = 16;  // Up to this many values Categorical is faster.

  // fill(log_weight) writes the log weights of the values 0 … count − 1.
  template <class Fill>
  [[gnu::always_inline]] WrittenCategorical(int count, const Fill& fill) : count_(count) {
    fill(log_weight_);
    const int whole = (count + kBlockSites - 1) / kBlockSites * kBlockSites;
    for (int k = count; k < whole; ++k) log_weight_[k] = -INFINITY;
    for (int k = 0; k < whole; k += kBlockSites) {
      const double largest = tree_max(log_weight_ + k);
      if (largest > scale_) scale_ = largest;
    }
    for (int k = 0; k < whole; ++k) weight_[k] = scaled_weight(log_weight_[k], scale_);
    for (int k = 0; k < count; ++k) sum_ += weight_[k];
  }

  double log_sum() const { return scale_ == -INFINITY ? scale_ : scale_ + elementary::log(sum_); }
  double log_probability(int k) const { return log_weight_[k] - log_sum(); }
  int draw(double u, int none) const {
    const auto of_value = [this](int64_t k) { return weight_[k]; };
    return static_cast<int>(inverse_cdf(count_, of_value, u * sum_, none));
  }

 private:
  int count_;
  double scale_ = -INFINITY, sum_ = 0;
  double log_weight_[kMostValues], weight_[kMostValues];
};

}  // namespace isinglass::cpu
