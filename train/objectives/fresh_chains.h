// Chains started from noise, which run along with the chains of each iteration and enter the replay
// buffer after a burn-in.
//
// Persistent chains see only what is near them. A mode of the model that they never reach can grow
// unseen until it holds all of the mass (docs/howto/training-diverges.md). Often this is a mode of
// high entropy and of higher energy than the data, which chains from noise reach first and do not
// leave. A chain that restarts within the buffer (ReplayBuffer::chains, Du & Mordatch 2019) finds
// it as well, but counts as a sample of the model while it is still noise.
//
// N chains start from uniform draws and make the same steps as the chains drawn from the buffer.
// The burn-in is R iterations, and that of chain k ends at iterations t ≡ kR/N (mod R). Then the
// state of chain k replaces the k-th chain of the iteration's batch, and chain k restarts from
// noise.
#pragma once

#include <cstdint>

#include "io/torch.h"
#include "models/energy_model.h"

namespace isinglass {

class FreshChains {
 public:
  // Makes N chains of the model, which must outlive this object. They restart every `period`
  // iterations. Their numbers begin at first_number, and `key` is the key of their random draws.
  FreshChains(const EnergyModel& model, int64_t count, int64_t period, int64_t first_number,
              uint64_t key, torch::Device device);

  // starts() returns the states from which an iteration steps, uint8 [batch + N, D]. The batch
  // comes first, and some of its chains are replaced. The batch must hold at least N chains.
  // numbers() returns the chains' numbers, int64 [batch + N].
  torch::Tensor starts(const torch::Tensor& batch, int64_t iteration);
  torch::Tensor numbers(const torch::Tensor& slots) const;

  // Stores the states after the iteration's steps, uint8 [N, D].
  void keep(const torch::Tensor& states) { states_.copy_(states); }

  // Restarts all chains from noise, as at the start of training.
  void begin();

  // Redraws the chains whose energy is not finite; `time` counts such redraws from 1.
  void repair(EnergyModel& model, int64_t time);

  // The state for checkpoints: the chains, uint8 [N, D], and 1 for each chain whose burn-in began
  // at an iteration of its own (0 for the others), int64 [N].
  const torch::Tensor& states() const { return states_; }
  const torch::Tensor& begun() const { return begun_; }

 private:
  const EnergyModel& model_;
  int64_t period_;
  uint64_t key_;
  torch::Tensor numbers_;  // int64 [N]
  torch::Tensor states_;
  torch::Tensor begun_;  // int64 [N], on the CPU
};

}  // namespace isinglass
