// Whether chains at one temperature have reached their equilibrium: R̂ of their energies
// (engine/diagnostics/rank_normalised.h), looked at after 512, 1024, 2048, … steps over the second
// half of what was made so far.
#pragma once

#include "engine/context.h"
#include "io/pt/pt_file.h"
#include "io/torch.h"

namespace isinglass {

class EquilibriumWatch {
 public:
  EquilibriumWatch() = default;
  EquilibriumWatch(int64_t chains, torch::Device device);

  // Steps until the next energy is to be seen.
  int64_t until_seen() const { return every_ - steps_ % every_; }
  // `steps` more were made, at most until_seen(); energy float64 [B] is that of the last. Returns
  // whether R̂ was looked at.
  bool see(int64_t steps, const torch::Tensor& energy, const Ranks& ranks);

  int64_t steps() const { return steps_; }
  double rhat() const { return rhat_; }  // at the last look; NaN before the first

  // Of all ranks' chains; and this rank's share of them.
  PtDict saved(const Ranks& ranks) const;
  void restore(const PtDict& saved, const Share& own, torch::Device device);

 private:
  static constexpr int64_t kRows = 512;

  torch::Tensor energies_;  // float64 [kRows, B]
  int64_t rows_ = 0, every_ = 1, steps_ = 0;
  double rhat_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace isinglass
