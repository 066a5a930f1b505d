// Training batches: the images of each iteration and their states. Both are functions of (seed,
// iteration) only, so that a resumed run needs no stored data order.
#pragma once

#include <cstdint>
#include <vector>

#include "io/torch.h"
#include "kernels/random/philox.h"
#include "train/data/dataset.h"

namespace isinglass {

// Returns the first `count` elements of a random permutation of 0 … size − 1 (Fisher–Yates), int64
// [count].
torch::Tensor random_order(const PhiloxStream& draws, Purpose purpose, int64_t size, int64_t count);

class Batches {
 public:
  // Copies the training split to the device.
  Batches(const Dataset& data, int64_t batch, uint64_t seed, torch::Device device);

  // Returns the indices of the images of iteration t (from 1), int64 [batch], on the CPU. They are
  // entries (t − 1)·batch … t·batch − 1 of the endless sequence that shuffles the training split
  // anew in every epoch.
  torch::Tensor images(int64_t iteration);

  // Returns the states of these images, uint8 [batch, D] on the device, or float32 if the data are.
  // Grey levels are binarised by new draws from Bernoulli(level / 255) in every iteration.
  torch::Tensor states(int64_t iteration);

  const torch::Tensor& pixels() const { return pixels_; }

 private:
  torch::Tensor pixels_;  // uint8 or float32 [N, D]
  PixelValues values_;
  int64_t batch_;
  uint64_t seed_;
  int64_t epoch_ = -1;
  torch::Tensor order_;  // order of epoch_, kept because the next iteration needs it again
};

}  // namespace isinglass
