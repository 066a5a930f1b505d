// The search for the (σ, α) of an any-scale sampler that makes the longest jumps, in burn-in.
//
// The longest mean |Δx|₁ lies on a narrow ridge on which α rises with σ from 1/2 to 1 (Sun, Dai,
// Sutton, Schuurmans & Dai 2023, "Any-scale balanced samplers for discrete spaces", figure 1). The
// paper's search by turns (algorithms 3 and 4) creeps there; this one has coordinates along the
// ridge and across:
//
//   1/(2σ) = log(1 + e^−u),  2α − 1 = 1/(1 + e^−(u + v))
//
// For a binary site whose log ratio is d the kernel's probability of a flip is p(d) = 1/(1 +
// exp(1/(2σ) − αd)), and log p(d) − log p(−d) = d + O(d³) if 2α − 1 = e^(−1/2σ), which is v = 0.
//
// A round compares five points, (u, v), (u ± h_u, v) and (u, v ± h_v), in single steps of all
// chains by turns, until one lies above the middle by 3 standard errors or every error is a small
// part of the longest jump: 12 %, then less from round to round, to 2 %. Then each coordinate moves
// to the vertex of the parabola through its three points, by h at most, and h becomes what would
// have cost 12 % of the jump. Where no chain has moved in a round, u shrinks if most proposals were
// refused, and grows if they were none.
#pragma once

#include <array>

#include "io/torch.h"

namespace isinglass {

class JumpSearch {
 public:
  using Values = std::array<double, 2>;  // σ, α

  // What has been compared is read from the device after as many steps.
  static constexpr int kSteps = 20;

  explicit JumpSearch(Values start);

  Values trial() const;                       // for the next step
  Values best() const;                        // after the rounds that are over
  int64_t rounds() const { return rounds_; }  // that are over
  // Whether the last round found its longest jump between the outer points.
  bool settled() const { return settled_; }

  // Means over chains in that step, float64 [] on any device: of |Δx|₁ and of the acceptance.
  void record(const torch::Tensor& jump, const torch::Tensor& acceptance);

 private:
  using Point = std::array<double, 2>;  // u, v
  struct Arms;

  static Values values_of(const Point& point);
  Point arm(int number) const;
  void compare();
  void move(const Arms& arms);

  Values start_;
  Point middle_, spacing_ = {2, 1};
  double precision_;
  int64_t rounds_ = 0, steps_ = 0;
  bool settled_ = false;
  torch::Tensor sums_;  // float64 [3, 5]: of jumps, of their squares, of acceptances
};

}  // namespace isinglass
