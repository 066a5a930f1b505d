// The schedule of non-reversible parallel tempering (Syed, Bouchard-Côté, Deligiannidis & Doucet
// 2022, §4–5) from the mean rejection rates r_i of the pairs of rungs (β_i, β_{i+1}):
//
//   Λ(β_i) = Σ_{j<i} r_j        the local barrier added up; Λ = Λ(1) is the target's own
//   1/(2 + 2Σ r_i/(1 − r_i))    the rate of round trips of one ensemble, per scan, where the local
//                               steps of a scan draw V afresh
//   1/(2 + 2Λ)                  what it tends to with many rungs at equal Λ
#pragma once

#include <cstdint>
#include <vector>

namespace isinglass {

// Λ.
double barrier(const std::vector<double>& rejection);

double predicted_round_trip_rate(const std::vector<double>& rejection);
double best_round_trip_rate(double barrier);

// ⌈2Λ⌉ + 1, two at least.
int64_t rungs_for(double barrier);

// lowest … 1 in equal steps: where one begins.
std::vector<double> equidistant_schedule(int64_t rungs, double lowest = 0);

// The β at equal steps of Λ(β), by a monotone cubic between the rungs that there are (Fritsch &
// Carlson 1980). Every r_i counts as 10⁻³ of their mean at least, so that Λ rises everywhere.
std::vector<double> equal_barrier_schedule(const std::vector<double>& betas,
                                           const std::vector<double>& rejection, int64_t rungs);

// A monotone cubic through (x_i, y_i), x ascending and y not falling; constant beyond the ends.
class MonotoneCubic {
 public:
  MonotoneCubic(std::vector<double> x, std::vector<double> y);
  double operator()(double x) const;
  double inverse(double y) const;  // by bisection

 private:
  std::vector<double> x_, y_, slope_;
};

}  // namespace isinglass
