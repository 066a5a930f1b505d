// The search for the (σ, α) of an any-scale sampler that makes the longest jumps (samplers.md §2.5;
// Sun, Dai, Sutton, Schuurmans & Dai 2023, algorithms 3 and 4).
//
// A round: 100 steps each at σ, σ(1 + γ), σ(1 − γ), α fixed; then, at the old σ, the same for α (≤
// 1). The value with the largest Σ of mean |Δx|₁ is kept (ties: +, then −, then unchanged); if
// neither changed, γ ← 0.9γ. It starts with γ = 0.2.
#pragma once

#include <array>

#include "io/torch.h"

namespace isinglass {

class JumpSearch {
 public:
  using Values = std::array<double, 2>;  // σ, α

  static constexpr int kSteps = 100;  // at each value

  explicit JumpSearch(Values start);

  Values trial() const;                         // for the next step
  const Values& best() const { return best_; }  // after the rounds that are over
  double gain() const { return gamma_; }

  // The mean over chains of |Δx|₁ in that step, float64 [] on any device; read every 300 steps.
  void record(const torch::Tensor& jump);

 private:
  void next_parameter();

  Values best_, chosen_;
  double gamma_ = 0.2;
  int parameter_ = 0, probe_ = 0, steps_ = 0;
  torch::Tensor jumps_;  // float64 [3]
};

}  // namespace isinglass
