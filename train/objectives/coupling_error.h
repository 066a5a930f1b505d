// Error of learned couplings against those of the target that the data were drawn from:
//   RMSE = √( Σ_ij (Ĵ_ij − J_ij)² / D² )
// The sum is over the symmetric matrices of U(z) = −zᵀJz (Grathwohl et al. 2021; PAS, figure 8).
// Such a matrix holds half of a pair's coupling in each of its two triangles. A pair that several
// edges join has the sum of their couplings; a pair that none joins has 0.
#pragma once

#include "models/lattice/ising.h"

namespace isinglass {

class CouplingError {
 public:
  // Both models must have the same number of sites. The learned model must outlive this object.
  CouplingError(const IsingModel& learned, const IsingModel& truth);

  // Returns the RMSE of the present couplings, float64 [], on their device.
  torch::Tensor rmse() const;

 private:
  const IsingModel& learned_;
  int64_t sites_;
  // Index into `truth_` of the pair that each learned edge joins, int64 [E].
  torch::Tensor pair_;
  // True couplings of the pairs that either model joins, float64 [P].
  torch::Tensor truth_;
};

}  // namespace isinglass
