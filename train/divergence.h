// How a run by chains is seen to diverge. d_t = U(data) − U(chains) is near 0 on average where the
// chains follow the model, and grows where they have lost it; the acceptance a_t of their steps falls
// where the energy has become too rough for proposals. An iteration whose loss or gradient is not
// finite makes no update of the parameters, and is looked at by the first of four tests alone:
//
//   blind  10 iterations in a row without an update: it is not the batch
//   apart  |d_t| > one nat a site, 100 iterations in a row
//   drift  |mean of d over the last 200 iterations| > 5 r, where r² is the mean of d² over the 2000
//          iterations before, and above a fiftieth of a nat a site, which noise alone may reach.
//          The root mean square about 0, not the standard deviation: the way to 0 is no drift.
//   stuck  mean of a over the last 50 iterations < a fifth of its median over the 400 before, in which a
//          fall at the very first does not count. Of 14 ResNets those that came to their end, or still train,
//          never had less than .46 of it, those that were lost .13 and less. It is the first to see what a
//          rate does that is too high.
//
// They see something that began up to 200 iterations ago; how far a run goes back to recover is
// measured by that (trainer.h).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "io/torch.h"

namespace isinglass {

inline constexpr int64_t kSuspectStretch = 200;  // iterations

class Divergence {
 public:
  explicit Divergence(int64_t sites) : sites_(static_cast<double>(sites)) {}

  // Takes d, and a where there is one, of the next iteration. Throws NumericalError with what is seen.
  void check(double difference, std::optional<double> acceptance = {});
  // The next iteration made no update, for this reason: "the loss is nan". Throws as check() does.
  void skipped(const std::string& reason);
  // An iteration made its update; check() follows where there are chains.
  void updated() { skipped_in_a_row_ = 0; }

  // The state, for checkpoints.
  struct Memory {
    int64_t iterations_apart = 0;  // in a row
    torch::Tensor differences;     // float64 [at most 2200], oldest first
    torch::Tensor acceptances;     // float64 [at most 450], oldest first
    int64_t skipped_in_a_row = 0;
  };
  Memory memory() const;
  void restore(const Memory& memory);

 private:
  void check_apart(double difference);
  void check_drift() const;
  void check_stuck() const;

  double sites_;
  int64_t apart_ = 0, skipped_in_a_row_ = 0;
  std::deque<double> differences_, acceptances_;
};

}  // namespace isinglass
