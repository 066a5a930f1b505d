// Chains at other temperatures beside those of an iteration, swapped with one of them (Desjardins,
// Courville, Bengio, Vincent & Delalleau, "Tempered Markov chain Monte Carlo for training of
// restricted Boltzmann machines", AISTATS 2010). Persistent chains stay near the data: a mode of the model
// that they never come to grows unseen, until it has all of the mass
// (docs/howto/training-diverges.md). Tempered chains come to it, in training as in the evaluation.
//
// N chains stand at β_k = k/N, k = 0 … N − 1, of exp(−βU), and make the same steps as the chains drawn
// from the replay buffer, of which the first is the rung β_N = 1. The chain at β_0 begins every iteration
// with a uniform draw: on a path from independent pixels, which evaluation takes, hot chains still have
// the data's background, and come to modes that differ in it much later. After the steps of iteration
// t the neighbours k ≡ t (mod 2) swap as in parallel tempering (kernels/tempering/swap.h).
#pragma once

#include "engine/annealing/tempered_model.h"
#include "engine/chain_state.h"
#include "io/torch.h"
#include "kernels/ops/swap.h"
#include "kernels/random/philox.h"
#include "train/objectives/replay_buffer.h"

namespace isinglass {

class TemperedRungs {
 public:
  // N rungs beside `batch` chains, numbered from first_number on, with draws of the key. The model
  // outlives this.
  TemperedRungs(EnergyModel& model, int64_t rungs, int64_t batch, int64_t first_number,
                uint64_t key, torch::Device device);

  EnergyModel& model() { return model_; }  // of batch + N chains: βU

  // The states from which an iteration steps, those of the batch first, uint8 [batch + N, D]; and the
  // chains' numbers, those of the batch being its slots, int64 [batch + N].
  torch::Tensor starts(const torch::Tensor& batch, int64_t iteration) const;
  torch::Tensor numbers(const torch::Tensor& slots) const;

  // Swaps neighbours among the states after the steps, in place, and keeps those of the rungs.
  // `current`: model()'s evaluation of them.
  void swap(torch::Tensor& states, const Evaluation& current, int64_t iteration);

  // The mean probability of the latest swaps, float64 [], the same tensor always.
  const torch::Tensor& accepted() const { return accepted_; }

  // All begin anew, as at the start of training.
  void begin() { states_.copy_(uniform(numbers_, 0, Purpose::kInitialState)); }

  // Those whose energy is not finite are drawn anew, for the `time`-th time (from 1).
  void repair(int64_t time);

  const torch::Tensor& states() const { return states_; }  // uint8 [N, D]

 private:
  torch::Tensor uniform(const torch::Tensor& numbers, int64_t time, Purpose purpose) const {
    return uniform_chains(target_.space(), numbers, key_, time, purpose);
  }

  EnergyModel& target_;
  uint64_t key_;
  TemperedModel model_;
  torch::Tensor numbers_;  // int64 [N]
  torch::Tensor states_;   // uint8 [N, D]
  torch::Tensor rows_;     // int64 [N + 1]: of all states, those of the rungs by ascending β
  // One ensemble of N + 1 rungs; what the swaps count beside rejections is of no use here.
  ops::RungTensors rungs_;
  ops::RungChainTensors at_;
  ops::SwapSums sums_;
  ops::TopTensors top_;
  Statistics steps_, counted_;
  torch::Tensor accepted_;
};

}  // namespace isinglass
