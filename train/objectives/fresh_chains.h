// Chains from noise beside those of an iteration, each of which comes to the replay buffer when it has come
// down.
//
// Persistent chains see what is near them. A mode of the model that they never come to grows unseen, until
// it has all of the mass (docs/howto/training-diverges.md): often one of much entropy, higher in energy than
// the data, to which chains from noise come first and which they do not leave. A chain that restarts within
// the buffer (ReplayBuffer::chains, Du & Mordatch 2019) finds it, too, but counts as one of the model's
// while it is noise still.
//
// N chains begin with uniform draws, and make the same steps as those drawn from the buffer. After R
// iterations, which for chain k end at t ≡ kR/N (mod R), its state takes the place of the k-th chain of the
// iteration, and it begins anew.
#pragma once

#include <cstdint>

#include "io/torch.h"
#include "models/energy_model.h"

namespace isinglass {

class FreshChains {
 public:
  // N chains of the space, which begin anew every `period` iterations, numbered from first_number on,
  // with draws of the key.
  FreshChains(const StateSpace& space, int64_t count, int64_t period, int64_t first_number,
              uint64_t key, torch::Device device);

  // The states from which an iteration steps, those of the batch first, uint8 [batch + N, D], some
  // chains of the batch being replaced; the chains' numbers, int64 [batch + N]. batch is N or more.
  torch::Tensor starts(const torch::Tensor& batch, int64_t iteration);
  torch::Tensor numbers(const torch::Tensor& slots) const;

  // Keeps their states after the iteration's steps, uint8 [N, D].
  void keep(const torch::Tensor& states) { states_.copy_(states); }

  // All begin anew, as at the start of training.
  void begin();

  // Those whose energy is not finite are drawn anew, for the `time`-th time (from 1).
  void repair(EnergyModel& model, int64_t time);

  // In checkpoints: uint8 [N, D]; which of them have begun in an iteration that is theirs, int64 [N].
  const torch::Tensor& states() const { return states_; }
  const torch::Tensor& begun() const { return begun_; }

 private:
  StateSpace space_;
  int64_t period_;
  uint64_t key_;
  torch::Tensor numbers_;  // int64 [N]
  torch::Tensor states_;
  torch::Tensor begun_;  // on the CPU
};

}  // namespace isinglass
