// The missing values of training images in the positive phase of contrastive divergence.
//
// If x_B is known of an image and x_A is missing, the gradient of its log-likelihood is
//
//   ∂ log π(x_B)/∂θ = E_π[∂U/∂θ] − E_π(x_A | x_B)[∂U/∂θ]
//
// The second expectation is estimated at one state per image, of a chain that persists: it starts
// at a draw of independent pixels and makes some transitions under the present parameters, which
// leave π(x_A | x_B) invariant, whenever the image is in a batch. Of an RBM these are sweeps that
// draw the hidden units given all sites and then the missing sites given the hidden units. Of
// another model they are steps of PAFS on the model of the missing sites given the others
// (models/conditional/conditional.h).
#pragma once

#include <cstdint>

#include "io/torch.h"
#include "models/energy_model.h"
#include "train/data/dataset.h"

namespace isinglass {

// Returns the set without missing values: in their place are draws of independent pixels with the
// frequencies of the known values (clamped_mean()).
Dataset with_drawn_values(const Dataset& data, uint64_t seed);

class MissingValues {
 public:
  // data: a set with missing values; drawn: what with_drawn_values() returns for it; steps: the
  // number of transitions at each visit.
  MissingValues(const Dataset& data, const Dataset& drawn, int64_t steps, uint64_t seed,
                torch::Device device);

  // Makes the transitions of iteration t (from 1) for its images, under the model's present
  // parameters. images: int64 [B], their numbers; states: uint8 [B, D], of which the known values
  // are used. Returns the complete states. Throws NumericalError if U or its gradient is not
  // finite at the start.
  torch::Tensor fill(EnergyModel& model, const torch::Tensor& images, const torch::Tensor& states,
                     int64_t iteration);

  // values() returns the present values, in the order of images and sites, uint8 [missing values],
  // for checkpoints; restore() sets them.
  torch::Tensor values() const { return states_.masked_select(missing_); }
  void restore(const torch::Tensor& values) { states_.masked_scatter_(missing_, values); }

  // Redraws the missing values of images whose energy is not finite; `time` counts such redraws
  // from 1.
  void repair(EnergyModel& model, int64_t time);

  const torch::Tensor& missing() const { return missing_; }  // bool [N, D], on the device

 private:
  torch::Tensor missing_;
  torch::Tensor states_;  // uint8 [N, D]: the present states, or the draws of grey levels once
  torch::Tensor mean_;    // float32 [D] or float64 [D, K]: the frequencies of the first draws
  int64_t steps_;
  uint64_t key_;
};

}  // namespace isinglass
