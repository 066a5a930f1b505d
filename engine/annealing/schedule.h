// The temperatures of annealing, β_0 = 0 … β_K = 1.
//
//   linear    equidistant
//   sigmoid   σ(δ(2k/K − 1)), δ = 4, scaled to [0, 1]
//   adaptive  equal lengths: a pilot run with chains of its own measures how much each of its
//             intervals adds to the variance of the log-weights. With many temperatures this is
//             D = ζ(β) Δβ² with a friction ζ(β) = Var(U − U_0)·τ. The sum of D over a path is least
//             for a density of temperatures ∝ √ζ (Sivak & Crooks, Phys. Rev. Lett. 2012)
#pragma once

#include <cstdint>
#include <vector>

namespace isinglass {

enum class Schedule { kLinear, kSigmoid, kAdaptive };

// Returns the powers 1000, 10 000, … below n.
std::vector<int64_t> decades_below(int64_t n);

// The result of a pilot run: its K' + 1 temperatures, and how much each interval added to the
// variance of the log-weights.
struct Pilot {
  std::vector<double> beta, variance;
};

// Returns K + 1 temperatures. kAdaptive uses the pilot; without a pilot, or if the pilot measured
// no variance, it is linear.
std::vector<double> annealing_schedule(Schedule schedule, int64_t temperatures, const Pilot& pilot);

}  // namespace isinglass
