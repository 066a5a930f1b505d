// The schedule of non-reversible parallel tempering (Syed, Bouchard-Côté, Deligiannidis & Doucet
// 2022, §4–5), from the mean rejection rates r_i of the pairs of rungs (β_i, β_{i+1}):
//
//   Λ(β_i) = Σ_{j<i} r_j        the cumulative barrier; Λ = Λ(1) is the barrier of the target
//   1/(2 + 2Σ r_i/(1 − r_i))    the rate of round trips of one ensemble, per scan, if the local
//                               steps of a scan draw V independently
//   1/(2 + 2Λ)                  its limit for many rungs at equal Λ
#pragma once

#include <cstdint>
#include <vector>

namespace isinglass {

// Returns Λ.
double barrier(const std::vector<double>& rejection);

// Return the rates of round trips given above: for these rungs, and in the limit of many rungs.
double predicted_round_trip_rate(const std::vector<double>& rejection);
double best_round_trip_rate(double barrier);

// Returns ⌈2Λ⌉ + 1, and at least two.
int64_t rungs_for(double barrier);

// Returns lowest … 1 in equal steps, the initial schedule.
std::vector<double> equidistant_schedule(int64_t rungs, double lowest = 0);

// Returns the β at equal steps of Λ(β), interpolated by a monotone cubic between the given rungs
// (Fritsch & Carlson 1980). Every r_i counts as at least 10⁻³ of their mean, so that Λ increases
// everywhere.
std::vector<double> equal_barrier_schedule(const std::vector<double>& betas,
                                           const std::vector<double>& rejection, int64_t rungs);

// A monotone cubic through (x_i, y_i), for ascending x and y that never decreases; constant beyond
// the ends.
class MonotoneCubic {
 public:
  MonotoneCubic(std::vector<double> x, std::vector<double> y);
  double operator()(double x) const;
  double inverse(double y) const;  // computed by bisection

 private:
  std::vector<double> x_, y_, slope_;
};

}  // namespace isinglass
