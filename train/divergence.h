// Detection of diverging training runs. d_t = U(data) − U(chains) is near 0 on average as long as
// the chains follow the model, and grows when they have lost it. The acceptance a_t of their steps
// falls when the energy has become too rough for the proposals. An iteration whose loss or gradient
// is not finite does not update the parameters, and only the first of the four tests looks at it:
//
//   blind  10 iterations in a row made no update. Then the batch is not the cause.
//   apart  |d_t| > one nat per site, 100 iterations in a row.
//   drift  |mean of d over the last 200 iterations| > 5 r, where r² is the mean of d² over the 2000
//          iterations before, and > 1/50 nat per site, which noise alone may reach. r is the root
//          mean square about 0, not the standard deviation, so that d may return to 0 without being
//          taken for a drift.
//   stuck  mean of a over the last 50 iterations < 1/5 of its median over the 400 before. The
//          median ignores a fall within the very first iterations. Of 14 ResNets, the runs that
//          finished or still train never fell below .46 of the median; those that were lost fell to
//          .13 and less. This test is the first to respond to a learning rate that is too high.
//
// Two further tests look at diagnostics that few iterations report (chain_diagnostics.h). They find
// chains that stay in separate modes, also for Gibbs samplers, which accept every proposal, so that
// `stuck` finds nothing. The number of sites that change per step would not tell either: it falls
// to 1/5 in healthy runs, too, while the model becomes sharp, and stays high if chains keep
// changing sites within their modes. A lower learning rate does not bring modes closer together.
// These tests are therefore no divergence, and return a warning:
//
//   stay   autocorrelation >= .8 in two reports in a row. If the chains mix, one report in 25 000
//          is that high.
//   alike  spread < 1/5 in two reports in a row. All chains are then in one of several modes, and
//          the parameters drive them from one to the other together.
//
// A run may end before these tests are certain. Two tests of its last ten iterations, both of which
// return a warning, compare them with its beginning, as far as it is known:
//
//   ends apart  |d_t| > one nat per site in each; mean |d| is twice that of the earliest ten.
//   ends high   the mean loss, of an objective without chains, is ten times the first loss.
//
// The tests detect something that began up to 200 iterations ago. This length determines how far a
// run goes back to recover (trainer.h).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "engine/sampler.h"
#include "io/torch.h"

namespace isinglass {

inline constexpr int64_t kSuspectStretch = 200;  // iterations

class Divergence {
 public:
  explicit Divergence(int64_t sites) : sites_(static_cast<double>(sites)) {}

  // Adds d, and a if there is one, of the next iteration. Throws NumericalError, which says what
  // was detected, if a test fails.
  void check(double difference, std::optional<double> acceptance = {});
  // Both take a diagnostic from an iteration that reports it, and return a warning if a test fails
  // for the first time since it was last passed; otherwise an empty text.
  std::string check_autocorrelation(double autocorrelation);
  std::string check_spread(double spread);
  // Adds the loss of the next iteration of an objective without chains.
  void add_loss(double loss);
  // Returns a warning if a run that ends now ends in a divergence; otherwise an empty text.
  std::string at_end() const;
  // Returns a clause of a sentence, which begins with "; ", if the mean acceptance of the last 50
  // iterations is above .99: steps of this size hardly move the chains, which cannot follow the
  // model. Otherwise, and in a shorter run, returns an empty text.
  std::string small_steps(const Scale& step_size) const;
  // Records that the next iteration made no update, for the given reason ("the loss is nan").
  // Throws as check() does.
  void skipped(const std::string& reason);
  // Records that an iteration made its update. With chains, check() is called next.
  void updated() { skipped_in_a_row_ = 0; }

  // The state for checkpoints.
  struct Memory {
    int64_t iterations_apart = 0;  // in a row
    torch::Tensor differences;     // float64 [at most 2200], oldest first
    torch::Tensor acceptances;     // float64 [at most 450], oldest first
    int64_t skipped_in_a_row = 0;
    int64_t stay_in_a_row = 0, alike_in_a_row = 0;              // reports
    torch::Tensor losses = torch::empty({0}, torch::kFloat64);  // the first and the last 10
  };
  Memory memory() const;
  void restore(const Memory& memory);

 private:
  void check_apart(double difference);
  void check_drift() const;
  void check_stuck() const;

  double sites_;
  int64_t apart_ = 0, skipped_in_a_row_ = 0, stay_in_a_row_ = 0, alike_in_a_row_ = 0;
  std::deque<double> differences_, acceptances_, losses_;
};

}  // namespace isinglass
