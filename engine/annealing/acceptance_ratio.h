// Bennett's acceptance ratio between two distributions (Bennett, J. Comput. Phys. 22, 1976; Crooks
// 1999; Shirts & Chodera 2008). Given n_F log-weights w_F of paths from distribution 0 to 1 and n_R
// log-weights w_R of paths from 1 to 0, the estimate c of log Z_1/Z_0 is the root of
//
//   Σ_F 1/(1 + (n_F/n_R) e^{c − w_F}) = Σ_R 1/(1 + (n_R/n_F) e^{−c − w_R})
//
// For draws of V on two neighbouring rungs of a ladder, instead of annealed paths, w_F = −ΔβV and
// w_R = ΔβV.
#pragma once

#include <vector>

namespace isinglass {

// One side of the equation: Σ f over its weights, f = 1/(1 + e^{shift − w}), and Σ f², Σ f(1 − f).
struct AcceptedWeights {
  double sum = 0, squares = 0, slope = 0;

  AcceptedWeights(const std::vector<double>& weights, double shift);
};

// Both sides of the equation at c.
struct BothSides {
  AcceptedWeights forward, reverse;

  BothSides(const std::vector<double>& forward, const std::vector<double>& reverse, double c);
};

// Returns the root c, to 1e-10. Each side must have a finite weight, and its other weights must be
// finite or −∞.
double acceptance_ratio_root(const std::vector<double>& forward,
                             const std::vector<double>& reverse);

}  // namespace isinglass
