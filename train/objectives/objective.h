// What training descends. Everything random in it is a function of the seed and the iteration.
#pragma once

#include <filesystem>

#include "io/pt/pt_file.h"
#include "io/torch.h"
#include "models/energy_model.h"
#include "train/metrics.h"

namespace isinglass {

class Objective {
 public:
  virtual ~Objective() = default;

  // The loss of iteration t (from 1), float64 [], differentiable in the model's parameters; and
  // what the metrics say of it.
  virtual torch::Tensor loss(EnergyModel& model, int64_t iteration, TrainMetrics& metrics) = 0;

  // Numbers and text that may not change between the sittings of a run.
  virtual PtDict settings() const = 0;

  // What it carries from iteration to iteration, for checkpoints: uint8 [slots, D], maybe no slots.
  virtual torch::Tensor chains() const = 0;
  // Draws the chains anew whose energy is not finite; `recovery` counts from 1.
  virtual void repair(EnergyModel& model, int64_t recovery) {}
  virtual int64_t steps() const { return 0; }  // Metropolis–Hastings steps an iteration

  // Pictures of the training data and of what the model has learned; none where states are no
  // images.
  virtual void draw_data(const std::filesystem::path& file) = 0;
  virtual void draw_samples(EnergyModel& model, const std::filesystem::path& file) = 0;
};

}  // namespace isinglass
