// Maximum mean discrepancy between two samples of discrete states, with the kernel of the papers,
// k(x, y) = exp(−mean Hamming distance) = exp(−#{i: x_i ≠ y_i} / D).
//
// A sample is a number of independent groups (chains) of draws; K̄_{g,h} is the mean of k over pairs
// of draws of groups g and h. Draws of one chain depend on each other, so the unbiased U-statistic
//   MMD² = mean_{g≠h} K̄ˣˣ_{g,h} + mean_{g≠h} K̄ʸʸ_{g,h} − 2 mean_{g,h} K̄ˣʸ_{g,h}
// has pairs of different groups only; with groups of one draw it is the usual one (Gretton et al.,
// "A kernel two-sample test", JMLR 2012). Its standard error is the delete-one-group jackknife's of
// two samples: the square root of the sum over both of (G − 1)/G Σ_g (θ_(g) − mean θ)².
//
// The V-statistic, which the papers plot, has all pairs, a draw with itself included; between two
// samples of one law it is (1/m + 1/n)(1 − E k) and not 0.
#pragma once

#include "engine/diagnostics/normal_quantile.h"
#include "io/torch.h"

namespace isinglass {

struct Mmd {
  double u_statistic, standard_error;  // NaN where a sample has a single group (error: two)
  double v_statistic;
  double lower() const { return u_statistic - kNormal975 * standard_error; }  // 95 % interval
  double upper() const { return u_statistic + kNormal975 * standard_error; }
};

// x [G, m, D], y [H, n, D]: groups of draws, of one dtype. Throws Error for other shapes.
Mmd hamming_mmd(const torch::Tensor& x, const torch::Tensor& y);

}  // namespace isinglass
