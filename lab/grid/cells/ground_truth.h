// Provides the ground truth of an RBM for a grid's MMD: draws of independent chains of block Gibbs
// sweeps, which run until they have converged.
#pragma once

#include <cmath>
#include <functional>

#include "engine/diagnostics/mmd.h"
#include "io/torch.h"
#include "models/energy_model.h"

namespace isinglass {

inline constexpr int64_t kMmdDraws = 4;  // So many states of each chain enter an MMD.

struct GroundTruth {
  // Holds late draws that are far apart, uint8 [chains, kMmdDraws, D]. It is undefined if the
  // chains have not converged, as a distance to them would be meaningless.
  torch::Tensor draws = {};
  double rhat = NAN;   // Holds R̂ of the energies in the second half of the sweeps.
  int64_t sweeps = 0;  // Counts the sweeps of each chain.
  // Holds the MMD between `draws` and as many other draws, which is the value of a perfect sampler.
  Mmd floor = {NAN, NAN, NAN};

  bool converged() const { return draws.defined(); }
};

struct GroundTruthOptions {
  int64_t chains = 100;         // Counts the chains of `draws`; the floor takes as many again.
  int64_t least_sweeps = 2000;  // It is doubled until R̂ is below the bound.
  int64_t most_sweeps = 64000;
  double converged_rhat = 1.05;
};

// Returns the ground truth. `stop` is polled after every sweep; if it is true, the search ends
// without draws. Throws Error if the model is not an RBM.
GroundTruth block_gibbs_truth(EnergyModel& model, torch::Device device,
                              const std::function<bool()>& stop,
                              const GroundTruthOptions& options = {});

}  // namespace isinglass
