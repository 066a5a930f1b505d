// Persistent contrastive divergence (Tieleman, "Training restricted Boltzmann machines using
// approximations to the likelihood gradient", ICML 2008), as in Grathwohl et al. 2021.
//
// Maximises mean log π_θ(data), whose gradient is E_model[∂U/∂θ] − E_data[∂U/∂θ]. The first
// expectation is estimated over chains that persist in a replay buffer or, in contrastive
// divergence (Hinton, "Training products of experts by minimizing contrastive divergence", 2002),
// over chains that start at the iteration's data. One iteration descends
//   L = E_data U − E_chains U + l2·(E_data U² + E_chains U²) + p_control·½·E_data ‖∇_x U‖²
//       + l1·Σ_e |J_e|
// The last term, over the couplings J of an Ising model, is descended by its subgradient,
// l1·sign(J), which is 0 at J = 0 (as Grathwohl et al. 2021 do, whose matrix holds half of J in
// each of its two triangles).
#pragma once

#include <algorithm>
#include <optional>

#include "engine/run/step_graph.h"
#include "engine/sampler.h"
#include "io/torch.h"
#include "models/bounds.h"

namespace isinglass {

struct PcdOptions {
  int64_t batch = 100;     // number of images, and of chains, per iteration
  int64_t buffer = 10000;  // number of persistent chains
  int64_t steps = 40;      // Metropolis–Hastings steps per iteration
  // Steps of the last iteration, to which the number grows over the last fifth of the run. 0: the
  // number stays.
  int64_t steps_end = 0;
  bool from_data = false;  // contrastive divergence: chains start at the data
  // Initialises the persistent chains at training images instead of draws from the base
  // distribution. Training images are near the model if it has been trained before.
  bool begin_at_data = false;
  // Probability that a chain drawn from the buffer restarts from the base distribution.
  double reinit = 0;
  // Number of additional tempered chains (tempered_rungs.h).
  int64_t rungs = 0;
  // Number of additional chains from noise (fresh_chains.h), and their burn-in [iterations], after
  // which their states enter the buffer.
  int64_t fresh = 0;
  int64_t fresh_iterations = 200;  // burn-in of each
  double l2 = 0;                   // weight of the squared energies
  double p_control = 0;            // weight of the squared gradient at the data
  // The interval that chains of continuous sites keep to; nothing means that of the model's space.
  std::optional<Bounds> bounds = {};
  // Standard deviation of the normal noise that every iteration adds to data of continuous sites.
  double data_noise = 0;
  double l1 = 0;        // weight of the couplings' absolute values
  bool lag = false;     // a learning rate that the chains can follow (lag_control.h)
  bool centre = false;  // centred steps of an RBM (train/optimiser/centring.h)
  uint64_t seed = 0;
  bool cuda_graph = false;  // captures steps in a CUDA graph (engine/run/step_graph.h)
};

// L and its parts, float64 []. `loss` is differentiable in the parameters; energy_data and
// energy_model are the means of of_data and of_chains.
struct PcdLoss {
  torch::Tensor loss, energy_data, energy_model;
  torch::Tensor of_data, of_chains;  // U, float64 [B], detached
};

// data, chains: states [B, D] of the model, which must be an IsingModel if l1 is above 0. The
// chains are constants of the loss.
PcdLoss pcd_loss(EnergyModel& model, const torch::Tensor& data, const torch::Tensor& chains,
                 const PcdOptions& options);

// The chains of an iteration after their steps.
struct PcdChains {
  torch::Tensor states;            // [B, D]
  torch::Tensor acceptance, hops;  // means over chains and steps, float64 []
  // Holds, if the sampler adapts, the mean acceptance of each chain, and 1 if it moved, else 0;
  // float64 [B, 2].
  torch::Tensor of_chains;
  // U at the starts and after the steps, float64 [B]; undefined without PcdOptions::lag.
  torch::Tensor before, after;
};

// Returns the number of steps of iteration t (from 1) of a run of `iterations`:
//   steps                                         until 4/5 of the run
//   steps + ⌊(steps_end − steps)·(5 t/iterations − 4)⌉  afterwards
int64_t steps_at(const PcdOptions& options, int64_t iteration, int64_t iterations);
inline int64_t most_steps(const PcdOptions& options) {
  return std::max(options.steps, options.steps_end);
}

// Advances the chains of each iteration. Their tensors keep their addresses, because a captured
// CUDA graph holds them.
class PcdSampling {
 public:
  // The sampler must outlive this object. iterations: the length of the whole run, for steps_at().
  PcdSampling(const Sampler& sampler, const PcdOptions& options, torch::Device device = torch::kCPU,
              int64_t iterations = 1);

  // Makes the steps of iteration t (from 1) from the states `starts` [B, D], under the model's
  // present parameters. Chain ids are the slots, int64 [B]; step numbers begin at (t − 1)·M, where
  // M is the largest number of steps of an iteration. The means are over the first `batch` chains,
  // or over all if there are fewer. The next call reuses the returned tensors. Every call must pass
  // the same model. Throws NumericalError if U or its gradient is not finite at the starts.
  PcdChains advance(EnergyModel& model, const torch::Tensor& starts, const torch::Tensor& slots,
                    int64_t iteration);
  // Adapts the step size of a sampler that adapts after iteration t, by the means of
  // PcdChains::of_chains over all ranks, float64 [2].
  void adapt(const torch::Tensor& means, int64_t iteration);
  // Returns the step size of the next iteration, float64 []; undefined if the sampler adapts none.
  torch::Tensor step_size() const { return step_size_; }
  // Returns the evaluation of the states after the steps.
  const Evaluation& evaluation() const { return state_.current; }

 private:
  void start(EnergyModel& model, const torch::Tensor& x, const torch::Tensor& slots,
             int64_t iteration);

  const Sampler& sampler_;
  PcdOptions options_;
  int64_t iterations_;
  StepGraph graph_;
  // The first evaluation of an iteration, which is needed because the parameters have changed.
  std::optional<CapturedWork> first_;
  ChainState state_;
  StepParams params_;
  torch::Tensor acceptance_, hops_, step_size_;
};

}  // namespace isinglass
