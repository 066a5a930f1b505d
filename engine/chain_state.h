// The state of a batch of Markov chains, and what one step reports.
//
// A step derives its random numbers from (seed, chain id, step number). All three lie in device
// memory: if they were kernel arguments, every replay of a CUDA graph would repeat the same
// numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "io/torch.h"
#include "kernels/ops/metropolis.h"
#include "models/energy_model.h"

namespace isinglass {

// Holds the parameters of a step that change from step to step. They stay on the device.
struct StepParams {
  torch::Tensor rng;  // int64 [2]: seed, step number
  // float64 [n] or [B, n]: the values of the sampler's scales(), e.g. R, τ, or σ and α
  torch::Tensor scale;

  static StepParams create(uint64_t seed, const std::vector<double>& scale, torch::Device device,
                           int64_t step = 0);
  // Adds `steps` to the step number without a host synchronisation.
  void advance(int64_t steps = 1);
  // Copies the step number to the host, which synchronises; not to be called inside a step.
  int64_t step() const;
};

// Counts per chain, on the device: acceptance and moved sites of the last step, and their sums
// since the last reset.
struct Statistics : ops::StepBuffers {
  // Counts the moves by the model's base that are made between steps; nullopt if there are none.
  std::optional<ops::StepBuffers> base_moves;

  static Statistics create(int64_t chains, torch::Device device);
  void reset();  // zeroes the sums
  void clear();  // zeroes the sums and the values of the last step
};

// Base class of the buffers of a sampler family; each family derives its own struct in its source.
struct SamplerScratch {
  virtual ~SamplerScratch() = default;
};

// Buffers that a sampler needs inside a step. init() allocates them, so that a step allocates
// nothing.
struct Workspace {
  torch::Tensor y;                          // the proposed state, of the shape and type of x
  Evaluation proposed;                      // the model's evaluation at y
  torch::Tensor log_forward, log_backward;  // float64 [B]; undefined for symmetric proposals
  // Further per-chain tensors [B, …]: `cache` belongs to the current state, and takes over the rows
  // of `proposed_cache` where a chain accepts. Both are undefined where the sampler has none.
  torch::Tensor cache, proposed_cache;
  std::shared_ptr<SamplerScratch> scratch;
};

// Returns the workspace's buffers as those of the sampler family that made them.
template <typename Scratch>
Scratch& scratch_of(const Workspace& workspace) {
  return static_cast<Scratch&>(*workspace.scratch);
}

struct ChainState {
  // uint8 [B, D] (discrete), float32 [B, D] (continuous) or int64 [B, D] (permutations)
  torch::Tensor x;
  // U(x), the gradient or differences if the sampler needs them, the model's cache
  Evaluation current;
  torch::Tensor chain_ids;  // int64 [B]: numbers of the chains among those of all ranks
  Statistics statistics;
  Workspace workspace;
  std::shared_ptr<SamplerScratch>
      base_moves;  // buffers of the moves between steps, if there are any

  int64_t chains() const { return x.size(0); }
  int64_t sites() const { return x.size(1); }
};

// Returns uninitialised buffers for evaluations of as many states of the same model.
Evaluation empty_like(const Evaluation& evaluation);

// Applies the Metropolis test to a proposal (kernels/accept/metropolis.h). Chains that accept take
// over state, energy, gradient, differences and cache of the proposal, and its `proposed_cache`.
// Does not advance the step number in rng.
void accept_proposal(ChainState& state, const Workspace& proposal, const torch::Tensor& rng,
                     ops::StepBuffers& counts, bool unadjusted = false, int64_t group = 1);

// Reports what one step cost. What the step did is in ChainState::statistics, which the next step
// overwrites.
struct StepInfo {
  int64_t evaluations = 0;  // model calls per chain
};

}  // namespace isinglass
