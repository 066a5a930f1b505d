// Searches in burn-in for the (σ, α) of an any-scale sampler that maximise the mean jump length
// E|Δx|₁.
//
// The maximum lies on a narrow ridge along which α rises with σ from 1/2 to 1 (Sun, Dai, Sutton,
// Schuurmans & Dai 2023, "Any-scale balanced samplers for discrete spaces", figure 1). The paper's
// search alternates between σ and α (algorithms 3 and 4) and moves slowly along such a ridge. This
// search uses coordinates along the ridge (u) and across it (v):
//
//   1/(2σ) = log(1 + e^−u),  2α − 1 = 1/(1 + e^−(u + v))
//
// For a binary site whose log ratio is d, the kernel flips with probability p(d) = 1/(1 +
// exp(1/(2σ) − αd)). There log p(d) − log p(−d) = d + O(d³) if 2α − 1 = e^(−1/2σ), which is v = 0.
//
// A round compares five points, (u, v), (u ± h_u, v) and (u, v ± h_v), which take turns in single
// steps of all chains. It ends when one of them lies above the middle by 3 standard errors, or when
// every standard error is a small fraction of the longest jump: 12 % at first, then less from round
// to round, down to 2 %. Then each coordinate moves to the vertex of the parabola through its three
// points, by h at most. The new h is the distance that would shorten the jump by 12 %. If no chain
// has moved in a round, u decreases if most proposals were rejected, and increases otherwise.
#pragma once

#include <array>

#include "io/torch.h"

namespace isinglass {

class JumpSearch {
 public:
  using Values = std::array<double, 2>;  // σ, α

  // The number of steps between two reads of the sums from the device.
  static constexpr int kSteps = 20;

  explicit JumpSearch(Values start);

  Values trial() const;                       // the values to use in the next step
  Values best() const;                        // the best values after the completed rounds
  int64_t rounds() const { return rounds_; }  // completed rounds
  // Returns true if the last round found the longest jump between its outer points.
  bool converged() const { return converged_; }

  // Records the step made with trial(): means over chains of |Δx|₁ and of the acceptance, float64
  // [] on any device.
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
  bool converged_ = false;
  // float64 [3, 5]: sums of jumps, of their squares, of acceptances, per point
  torch::Tensor sums_;
};

}  // namespace isinglass
