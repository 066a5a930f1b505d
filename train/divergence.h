// How a run by chains is seen to diverge. d_t = U(data) − U(chains) is near 0 on average where the
// chains follow the model, and grows where they have lost it. Two tests, after every iteration:
//
//   apart  |d_t| > one nat a site, 100 iterations in a row
//   drift  |mean of d over the last 200 iterations| > 5 r, where r² is the mean of d² over the 2000
//          iterations before, and above a fiftieth of a nat a site, which noise alone may reach.
//          The root mean square about 0, not the standard deviation: the way to 0 is no drift.
//
// Both see something that began up to 200 iterations ago; how far a run goes back to recover is
// measured by that (trainer.h).
#pragma once

#include <cstdint>
#include <deque>

#include "io/torch.h"

namespace isinglass {

inline constexpr int64_t kSuspectStretch = 200;  // iterations

class Divergence {
 public:
  explicit Divergence(int64_t sites) : sites_(static_cast<double>(sites)) {}

  // Takes d of the next iteration. Throws NumericalError with what is seen.
  void check(double difference);

  // The state, for checkpoints.
  int64_t iterations_apart() const { return apart_; }  // in a row
  torch::Tensor differences() const;                   // float64 [at most 2200], oldest first
  void restore(int64_t iterations_apart, const torch::Tensor& differences);

 private:
  double sites_;
  int64_t apart_ = 0;
  std::deque<double> differences_;
};

}  // namespace isinglass
