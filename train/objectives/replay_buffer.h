// The replay buffer of persistent chains, on the device that samples (Du & Mordatch 2019). Tieleman
// 2008 is the special case in which every iteration advances every chain.
#pragma once

#include <cstdint>

#include "io/torch.h"
#include "kernels/random/philox.h"
#include "models/energy_model.h"

namespace isinglass {

// Returns uniformly drawn states, uint8 [N, D], for chains outside the buffer. numbers: the chains'
// numbers, int64 [N].
torch::Tensor uniform_chains(const StateSpace& space, const torch::Tensor& numbers, uint64_t key,
                             int64_t time, Purpose purpose);

class ReplayBuffer {
 public:
  // Draws `size` chains from the base distribution: Bernoulli(mean) for binary sites, with mean
  // float32 [D]; the frequencies float64 [D, K] for categorical sites. The buffer lies on the
  // device of `mean`, which is the one that samples.
  ReplayBuffer(const torch::Tensor& mean, int64_t size, uint64_t seed);

  int64_t size() const { return states_.size(0); }
  torch::Tensor& states() { return states_; }  // uint8 [size, D]
  const torch::Tensor& states() const { return states_; }

  // Draws `count` distinct slots for an iteration, int64 [count], on the buffer's device.
  torch::Tensor draw_slots(int64_t count, int64_t iteration) const;

  // Returns the chains of the slots, uint8 [count, D]. Each is replaced by a draw from the base
  // distribution with probability `reinit`.
  torch::Tensor chains(const torch::Tensor& slots, double reinit, int64_t iteration) const;

  // Redraws the chains of the slots from the base distribution; `time` counts such redraws from 1.
  void reinitialise(const torch::Tensor& slots, int64_t time);

  void write_back(const torch::Tensor& slots, const torch::Tensor& chains);

 private:
  torch::Tensor mean_;    // float32 [D] or float64 [D, K]
  torch::Tensor states_;  // uint8 [size, D]
  uint64_t key_;
};

}  // namespace isinglass
