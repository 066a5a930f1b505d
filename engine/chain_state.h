// What a batch of Markov chains consists of, and what one step reports.
//
// A step reads its randomness from (seed, chain id, step number), all in device memory: as kernel
// arguments, every replay of a CUDA graph would repeat the same numbers.
#pragma once

#include <cstdint>
#include <memory>

#include "io/torch.h"
#include "kernels/ops/metropolis.h"
#include "models/energy_model.h"

namespace isinglass {

// The numbers of a step that change from step to step. They stay on the device.
struct StepParams {
  torch::Tensor rng;    // int64 [2]: seed, step number
  torch::Tensor scale;  // float64 [n] or [B, n]: the sampler's scales(), such as R, τ, or σ and α

  static StepParams create(uint64_t seed, const std::vector<double>& scale, torch::Device device,
                           int64_t step = 0);
  void advance(int64_t steps = 1);  // step number + steps, without a synchronisation
  int64_t step() const;             // reads it back: not inside a step
};

// What the chains did, per chain, on the device: in the last step, and summed since the last reset.
struct Statistics : ops::StepBuffers {
  static Statistics create(int64_t chains, torch::Device device);
  void reset();  // the sums
  void clear();  // all
};

// A sampler family's own buffers; each family derives its struct in its source.
struct SamplerScratch {
  virtual ~SamplerScratch() = default;
};

// Buffers a sampler needs inside a step, made by init() so that a step allocates nothing.
struct Workspace {
  torch::Tensor y;                          // the proposal, like x
  Evaluation proposed;                      // the model at y
  torch::Tensor log_forward, log_backward;  // float64 [B]; undefined for symmetric proposals
  torch::Tensor kept, moved;  // [B, …]: more that accepted chains take over, from `moved`; or none
  std::shared_ptr<SamplerScratch> scratch;
};

struct ChainState {
  torch::Tensor x;          // uint8 [B, D], or float32 / int64
  Evaluation current;       // U(x), its gradient if the sampler needs it, the model's cache
  torch::Tensor chain_ids;  // int64 [B]: global numbers of the chains
  Statistics statistics;
  Workspace workspace;

  int64_t chains() const { return x.size(0); }
  int64_t sites() const { return x.size(1); }
};

// What one step cost; what it did is in the state's statistics, which the next step overwrites.
struct StepInfo {
  int64_t evaluations = 0;  // model calls per chain
};

}  // namespace isinglass
