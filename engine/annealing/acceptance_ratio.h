// The acceptance ratio between two distributions (Bennett, J. Comput. Phys. 22, 1976; Crooks 1999;
// Shirts & Chodera 2008): c = log Z_1/Z_0 from n_F log-weights w_F of ways from 0 to 1 and n_R log-weights
// w_R of ways back is the root of
//
//   Σ_F 1/(1 + (n_F/n_R) e^{c − w_F}) = Σ_R 1/(1 + (n_R/n_F) e^{−c − w_R})
//
// With draws of V on neighbouring rungs in place of annealing, w_F = −ΔβV and w_R = ΔβV.
#pragma once

#include <vector>

namespace isinglass {

// One side of the equation: Σ f of its weights, f = 1/(1 + e^{shift − w}), and Σ f², Σ f(1 − f).
struct AcceptedWeights {
  double sum = 0, squares = 0, slope = 0;

  AcceptedWeights(const std::vector<double>& weights, double shift);
};

struct BothSides {
  AcceptedWeights forward, reverse;

  BothSides(const std::vector<double>& forward, const std::vector<double>& reverse, double c);
};

// c, to 1e-10; each side has a finite weight, and the others are finite or −∞.
double acceptance_ratio_root(const std::vector<double>& forward,
                             const std::vector<double>& reverse);

}  // namespace isinglass
