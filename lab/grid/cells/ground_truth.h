// Ground truth of an RBM for a grid's MMD: draws of independent chains of block Gibbs sweeps, which
// run until they have converged.
#pragma once

#include <cmath>
#include <functional>

#include "engine/diagnostics/mmd.h"
#include "io/torch.h"
#include "models/energy_model.h"

namespace isinglass {

inline constexpr int64_t kMmdDraws = 4;  // states of every chain that enter an MMD

struct GroundTruth {
  // uint8 [chains, kMmdDraws, D], far apart and late; undefined where the chains have not converged:
  // a distance to them would say nothing.
  torch::Tensor draws = {};
  double rhat = NAN;            // of the energies of the second half of the sweeps
  int64_t sweeps = 0;           // of every chain
  Mmd floor = {NAN, NAN, NAN};  // of as many other draws to `draws`: what a perfect sampler has

  bool converged() const { return draws.defined(); }
};

struct GroundTruthOptions {
  int64_t chains = 100;         // of `draws`; as many others are for the floor
  int64_t least_sweeps = 2000;  // doubled until R̂ is below the bound
  int64_t most_sweeps = 64000;
  double converged_rhat = 1.05;
};

// `stop` is asked after every sweep; true ends the search, with no draws. Throws Error if the model
// has no such sweeps.
GroundTruth block_gibbs_truth(EnergyModel& model, torch::Device device,
                              const std::function<bool()>& stop,
                              const GroundTruthOptions& options = {});

}  // namespace isinglass
