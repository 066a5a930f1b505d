// Training batches: which images an iteration sees, and their states. Both are functions of
// (seed, iteration) alone, so that a resumed run needs no stored data order.
#pragma once

#include <cstdint>
#include <vector>

#include "io/torch.h"
#include "kernels/random/philox.h"
#include "train/data/dataset.h"

namespace isinglass {

// The first `count` elements of a random permutation of 0 … size − 1 (Fisher–Yates), int64 [count].
torch::Tensor random_order(const Draws& draws, Purpose purpose, int64_t size, int64_t count);

class Batches {
 public:
  // Keeps the training split on the device.
  Batches(const Dataset& data, int64_t batch, uint64_t seed, torch::Device device);

  // The images of iteration t (from 1): places (t − 1)·batch … t·batch − 1 of the endless sequence
  // that shuffles the training split afresh for every epoch. int64 [batch], on the CPU.
  torch::Tensor images(int64_t iteration);

  // Their states, uint8 [batch, D] on the device, or float32 where the data are; grey levels are
  // drawn afresh from Bernoulli(level / 255) in every iteration.
  torch::Tensor states(int64_t iteration);

  const torch::Tensor& pixels() const { return pixels_; }

 private:
  torch::Tensor pixels_;  // uint8 or float32 [N, D]
  PixelValues values_;
  int64_t batch_;
  uint64_t seed_;
  int64_t epoch_ = -1;
  torch::Tensor order_;  // of epoch_, kept because the next iteration needs it again
};

}  // namespace isinglass
