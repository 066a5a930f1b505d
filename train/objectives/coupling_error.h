// How far learned couplings are from those of the target that the data were drawn from:
//   RMSE = √( Σ_ij (Ĵ_ij − J_ij)² / D² )
// over the symmetric matrices of U(z) = −zᵀJz (Grathwohl et al. 2021; PAS, figure 8). Such a matrix
// holds half of a pair's coupling at both its sides; a pair that is joined several times has the sum,
// one that is not joined has 0.
#pragma once

#include "models/lattice/ising.h"

namespace isinglass {

class CouplingError {
 public:
  // Of as many sites. The learned model outlives this.
  CouplingError(const IsingModel& learned, const IsingModel& truth);

  torch::Tensor rmse() const;  // of the present couplings, float64 [], on their device

 private:
  const IsingModel& learned_;
  int64_t sites_;
  torch::Tensor pair_;   // int64 [E]: which of `truth_` an edge is of
  torch::Tensor truth_;  // float64 [P], of the pairs that either model joins
};

}  // namespace isinglass
