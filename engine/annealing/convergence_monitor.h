// Monitors whether chains at one temperature have reached equilibrium, by R̂ of their energies
// (engine/diagnostics/rank_normalised.h). R̂ is computed after 512, 1024, 2048, … steps, from the
// second half of the steps made so far.
#pragma once

#include "engine/context.h"
#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass {

class ConvergenceMonitor {
 public:
  ConvergenceMonitor() = default;
  ConvergenceMonitor(int64_t chains, torch::Device device);

  // Returns the number of steps until the next energy is to be recorded.
  int64_t steps_until_check() const { return every_ - steps_ % every_; }
  // Records the energy, float64 [B], after `steps` further steps, which are at most
  // steps_until_check(). Returns true if R̂ was computed, in which energies that differ by
  // `rounding` (engine/diagnostics/ties.h) count as equal.
  bool check(int64_t steps, const torch::Tensor& energy, double rounding, const Ranks& ranks);

  int64_t steps() const { return steps_; }
  double rhat() const { return rhat_; }  // the latest value; NaN before the first

  // saved() returns the monitor's data for the chains of all ranks; restore() reads this rank's
  // share of them.
  PtDict saved(const Ranks& ranks) const;
  void restore(const PtDict& saved, const Shard& own, torch::Device device);

 private:
  static constexpr int64_t kRows = 512;

  torch::Tensor energies_;  // float64 [kRows, B]
  int64_t rows_ = 0, every_ = 1, steps_ = 0;
  double rhat_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace isinglass
