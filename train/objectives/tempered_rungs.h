// Additional training chains at higher temperatures, one of which swaps with a chain of the
// iteration (Desjardins, Courville, Bengio, Vincent & Delalleau, "Tempered Markov chain Monte Carlo
// for training of restricted Boltzmann machines", AISTATS 2010). Persistent chains stay near the
// data. A mode of the model that they never reach can grow unseen until it holds all of the mass
// (docs/howto/training-diverges.md). Tempered chains reach it, in training as in the evaluation.
//
// N chains sample exp(−β_k U) at β_k = k/N, k = 0 … N − 1, and make the same steps as the chains
// drawn from the replay buffer, the first of which is the rung β_N = 1. The chain at β_0 starts
// every iteration from a uniform draw. The evaluation anneals from independent pixels instead; on
// that path hot chains still have the data's background, and would reach modes that differ in it
// much later. After the steps of iteration t, the neighbours k ≡ t (mod 2) swap as in parallel
// tempering (kernels/tempering/swap.h).
#pragma once

#include "engine/annealing/tempered_model.h"
#include "engine/chain_state.h"
#include "io/torch.h"
#include "kernels/ops/tempering.h"
#include "kernels/random/philox.h"
#include "train/objectives/replay_buffer.h"

namespace isinglass {

class TemperedRungs {
 public:
  // Makes N rungs in addition to `batch` chains. The rungs are numbered from first_number on, and
  // `key` is the key of their random draws. The model must outlive this object.
  TemperedRungs(EnergyModel& model, int64_t rungs, int64_t batch, int64_t first_number,
                uint64_t key, torch::Device device);

  EnergyModel& model() { return model_; }  // βU of batch + N chains

  // starts() returns the states from which an iteration steps, uint8 [batch + N, D], the batch
  // first. numbers() returns the chains' numbers, int64 [batch + N]; those of the batch are its
  // slots.
  torch::Tensor starts(const torch::Tensor& batch, int64_t iteration) const;
  torch::Tensor numbers(const torch::Tensor& slots) const;

  // Swaps neighbouring rungs among the states after the steps, in place, and stores the states of
  // the rungs. current: model()'s evaluation of the states.
  void swap(torch::Tensor& states, const Evaluation& current, int64_t iteration);

  // Returns the mean acceptance probability of the latest swaps, float64 []. It is always the same
  // tensor.
  const torch::Tensor& accepted() const { return accepted_; }

  // Restarts all rungs from uniform draws, as at the start of training.
  void begin() { states_.copy_(uniform(numbers_, 0, Purpose::kInitialState)); }

  // Redraws the rungs whose energy is not finite; `time` counts such redraws from 1.
  void repair(int64_t time);

  const torch::Tensor& states() const { return states_; }  // uint8 [N, D]

 private:
  torch::Tensor uniform(const torch::Tensor& numbers, int64_t time, Purpose purpose) const {
    return uniform_chains(target_, numbers, key_, time, purpose);
  }

  EnergyModel& target_;
  uint64_t key_;
  TemperedModel model_;
  torch::Tensor numbers_;  // int64 [N]
  torch::Tensor states_;   // uint8 [N, D]
  torch::Tensor rows_;     // int64 [N + 1]: rows of the rungs among all states, by ascending β
  // The buffers of the swaps, for one ensemble of N + 1 rungs. Of the swaps' statistics only the
  // rejections are used here.
  ops::RungTensors rungs_;
  ops::RungChainTensors at_;
  ops::SwapSums sums_;
  ops::TopTensors top_;
  Statistics steps_, counted_;
  torch::Tensor accepted_;
};

}  // namespace isinglass
