// Maximum mean discrepancy between two samples of discrete states, with the kernel of the papers,
// k(x, y) = exp(−mean Hamming distance) = exp(−#{i: x_i ≠ y_i} / D).
//
// A sample consists of independent groups (chains) of draws; K̄_{g,h} is the mean of k over pairs
// of draws from groups g and h. Draws of one chain depend on each other. Therefore the unbiased
// U-statistic
//   MMD² = mean_{g≠h} K̄ˣˣ_{g,h} + mean_{g≠h} K̄ʸʸ_{g,h} − 2 mean_{g,h} K̄ˣʸ_{g,h}
// has pairs of different groups only. With groups of one draw it is the usual one (Gretton et al.,
// "A kernel two-sample test", JMLR 2012). Its standard error is the delete-one-group jackknife for
// two samples: the square root of the sum over both samples of (G − 1)/G Σ_g (θ_(g) − mean θ)².
//
// The V-statistic, which the papers plot, includes all pairs, also of a draw with itself. Between
// two samples of the same distribution it is (1/m + 1/n)(1 − E k) and not 0.
#pragma once

#include "engine/diagnostics/normal_quantile.h"
#include "io/torch.h"

namespace isinglass {

struct Mmd {
  // NaN if a sample has a single group (standard_error: fewer than three groups).
  double u_statistic, standard_error;
  double v_statistic;
  double lower() const { return u_statistic - kNormal975 * standard_error; }  // 95 % interval
  double upper() const { return u_statistic + kNormal975 * standard_error; }
};

// Compares x [G, m, D] and y [H, n, D], groups of draws of one dtype. Throws Error for other
// shapes.
Mmd hamming_mmd(const torch::Tensor& x, const torch::Tensor& y);

}  // namespace isinglass
