// Persistent contrastive divergence (Tieleman, "Training restricted Boltzmann machines using
// approximations to the likelihood gradient", ICML 2008), as in Grathwohl et al. 2021.
//
// Maximises mean log π_θ(data), whose gradient is E_model[∂U/∂θ] − E_data[∂U/∂θ]; the second
// expectation is over chains that persist in a replay buffer; or, in contrastive divergence
// (Hinton, "Training products of experts by minimizing contrastive divergence", 2002), over chains
// that start at the iteration's data. One iteration descends
//   L = E_data U − E_chains U + l2·(E_data U² + E_chains U²) + p_control·½·E_data ‖∇_x U‖²
//       + l1·Σ_e |J_e|
// The last term, of an Ising model's couplings J, is descended by its subgradient, l1·sign(J), which is
// 0 at J = 0 (as Grathwohl et al. 2021 do, whose matrix holds half of J at both its sides).
#pragma once

#include <optional>

#include "engine/run/step_graph.h"
#include "engine/sampler.h"
#include "io/torch.h"

namespace isinglass {

struct PcdOptions {
  int64_t batch = 100;     // images, and chains, of an iteration
  int64_t buffer = 10000;  // chains that persist
  int64_t steps = 40;      // Metropolis–Hastings steps of an iteration
  bool from_data = false;  // contrastive divergence
  // The chains that persist begin at training images, and not at the base: near the model, if that has
  // learned before.
  bool begin_at_data = false;
  double reinit = 0;  // probability that a drawn chain restarts from the base Bernoulli
  int64_t rungs = 0;  // tempered chains beside (tempered_rungs.h)
  int64_t fresh = 0;  // chains from noise beside (fresh_chains.h),
  int64_t fresh_iterations = 200;  // each of which comes to the buffer after so many
  double l2 = 0;                   // weight of the squared energies
  double p_control = 0;            // weight of the squared gradient at the data
  double l1 = 0;                   // weight of the couplings' absolute values
  bool centre = false;             // steps of an RBM (train/optimiser/centring.h)
  uint64_t seed = 0;
  bool cuda_graph = false;  // engine/run/step_graph.h
};

// L and its parts; loss is differentiable in the parameters, all are float64 [].
struct PcdLoss {
  torch::Tensor loss, energy_data, energy_model;  // float64 [], the last two means of
  torch::Tensor of_data, of_chains;               // U, float64 [B], constants
};

// data, chains: uint8 [B, D] states of the model, which is an IsingModel where l1 is above 0. The chains
// are constants of the loss.
PcdLoss pcd_loss(EnergyModel& model, const torch::Tensor& data, const torch::Tensor& chains,
                 const PcdOptions& options);

// Chains of an iteration after their steps.
struct PcdChains {
  torch::Tensor states;            // uint8 [B, D]
  torch::Tensor acceptance, hops;  // means over chains and steps, float64 []
};

// The chains of the iterations, in tensors of their own, which stay where they are: a captured step
// holds their addresses.
class PcdSampling {
 public:
  // The sampler outlives this.
  PcdSampling(const Sampler& sampler, const PcdOptions& options);

  // Makes the steps of iteration t (from 1) from the states `starts` [B, D], under the model's
  // present parameters. Chain ids are the slots, int64 [B]; step numbers are (t − 1)·steps …
  // t·steps − 1. The means are of the first `batch` chains, or of all if they are fewer. The tensors
  // returned are those of the next call, too. Throws NumericalError if U or its gradient is not finite
  // at the starts. Always the same model.
  PcdChains advance(EnergyModel& model, const torch::Tensor& starts, const torch::Tensor& slots,
                    int64_t iteration);
  const Evaluation& evaluation() const { return state_.current; }  // of the states after the steps

 private:
  void start(EnergyModel& model, const torch::Tensor& x, const torch::Tensor& slots,
             int64_t iteration);

  const Sampler& sampler_;
  PcdOptions options_;
  StepGraph graph_;
  std::optional<CapturedWork> first_;  // of an iteration: under parameters that have changed
  ChainState state_;
  StepParams params_;
  torch::Tensor acceptance_, hops_;
};

}  // namespace isinglass
