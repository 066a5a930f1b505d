// The replay buffer of persistent chains, on the device that samples (Du & Mordatch 2019; Tieleman
// 2008 is the case where every chain is advanced in every iteration).
#pragma once

#include <cstdint>

#include "io/torch.h"
#include "kernels/random/philox.h"
#include "models/energy_model.h"

namespace isinglass {

// Uniform draws beside the buffer, uint8 [N, D], of chains with these numbers, int64 [N].
torch::Tensor uniform_chains(const StateSpace& space, const torch::Tensor& numbers, uint64_t key,
                             int64_t time, Purpose purpose);

class ReplayBuffer {
 public:
  // `size` chains drawn from the base distribution: of binary sites Bernoulli(mean), mean float32
  // [D]; of categorical ones their frequencies, float64 [D, K]. It lies on the device that samples.
  ReplayBuffer(const torch::Tensor& mean, int64_t size, uint64_t seed);

  int64_t size() const { return states_.size(0); }
  torch::Tensor& states() { return states_; }  // uint8 [size, D]
  const torch::Tensor& states() const { return states_; }

  // `count` distinct slots of an iteration, int64 [count], on the buffer's device.
  torch::Tensor draw_slots(int64_t count, int64_t iteration) const;

  // The chains of the slots, uint8 [count, D]; each is replaced by a draw from the base with
  // probability `reinit`.
  torch::Tensor chains(const torch::Tensor& slots, double reinit, int64_t iteration) const;

  // The slots' chains are drawn from the base again, for the `time`-th time (from 1).
  void draw_anew(const torch::Tensor& slots, int64_t time);

  void write_back(const torch::Tensor& slots, const torch::Tensor& chains);

 private:
  torch::Tensor mean_;    // float32 [D] or float64 [D, K]
  torch::Tensor states_;  // uint8 [size, D]
  uint64_t key_;
};

}  // namespace isinglass
