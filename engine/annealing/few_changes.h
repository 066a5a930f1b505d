// Independent sites given that at most k of them differ from a reference (a Hamming ball).
//
//   q_i           the probability that site i differs
//   S_i[c]        the probability of at most c changes among the sites i, i + 1, …
//                 S_i[c] = (1 − q_i) S_{i+1}[c] + q_i S_{i+1}[c − 1],  S_D[c] = 1,  S_i[−1] = 0
//   change[i, c]  q_i S_{i+1}[c − 1] / S_i[c], the probability that site i differs if at most c of
//                 the sites from i on do
//
// S underflows where many sites are likely to differ. The ratios R_i[c] = S_i[c − 1] / S_i[c] do
// not, and all that is needed follows from them by sums and products of positive numbers:
//
//   a_i[c] = S_i[c] / S_{i+1}[c] = (1 − q_i) + q_i R_{i+1}[c],  R_D[c] = 1 (c ≥ 1),  R_i[0] = 0
//   R_i[c] = R_{i+1}[c] a_i[c − 1] / a_i[c],  change[i, c] = q_i R_{i+1}[c] / a_i[c]
#pragma once

#include "kernels/ops/random.h"
#include "models/conditional/distance_limit.h"

namespace isinglass {

struct FewChanges {
  ops::LimitedSiteTensors sites;  // on the limit's device
  torch::Tensor log_probability;  // float64 [N], on the CPU: log S_0[k] of independent draws
};

// p: float64 [D, K], positive, whose rows sum to 1; site i has value v with probability p[i, v].
FewChanges few_changes(const torch::Tensor& p, const DistanceLimit& limit);

}  // namespace isinglass
