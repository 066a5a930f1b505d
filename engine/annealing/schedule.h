// Where annealing puts its temperatures, β_0 = 0 … β_K = 1.
//
//   linear    equidistant
//   sigmoid   σ(δ(2k/K − 1)), δ = 4, scaled to [0, 1]
//   adaptive  equal lengths: a pilot run with chains of its own measures how much each of its
//             intervals adds to the variance of the log-weights. At many temperatures this is
//             D = ζ(β) Δβ² with a friction ζ(β) = Var(U − U_0)·τ, and what minimises the sum of D
//             over a path is a density of temperatures ∝ √ζ (Sivak & Crooks, Phys. Rev. Lett. 2012)
#pragma once

#include <cstdint>
#include <vector>

namespace isinglass {

enum class Schedule { kLinear, kSigmoid, kAdaptive };

// The temperatures 1000, 10 000, … below n.
std::vector<int64_t> decades_below(int64_t n);

// Of a pilot run: its K' + 1 temperatures, and what each interval added to the variance of the
// log-weights.
struct Pilot {
  std::vector<double> beta, variance;
};

// K + 1 numbers. kAdaptive follows the pilot; without one, or of one that saw nothing, it is linear.
std::vector<double> annealing_schedule(Schedule schedule, int64_t temperatures, const Pilot& pilot);

}  // namespace isinglass
