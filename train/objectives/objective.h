// The interface of training objectives. All randomness of an objective is a function of the seed
// and the iteration.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/context.h"
#include "io/pt/pt_file.h"
#include "io/torch.h"
#include "models/energy_model.h"

namespace isinglass {

// The loss of an iteration, float64 [], which is differentiable in the model's parameters, and the
// metrics of metrics.h that belong to it, each float64 [] on the device, so that the trainer reads
// all of them in one transfer. If several ranks share a batch, each rank holds its part, and the
// parts add up to the batch's values.
struct Loss {
  torch::Tensor value;
  std::vector<std::pair<std::string, torch::Tensor>> metrics;
};

// A rank's part of an iteration's batch of images or chains.
struct BatchShare {
  Shard own;
  // The largest number of items that any rank has.
  int64_t most;
  double weight;

  // Throws Error if there are more ranks than images.
  BatchShare(const Ranks& ranks, int64_t batch);
};

class Objective {
 public:
  virtual ~Objective() = default;

  // Advances the chains of iteration t (from 1) under the model's present parameters, if the
  // objective has chains. It is called before loss().
  virtual void advance_chains(EnergyModel& model, int64_t iteration) {}

  virtual Loss loss(EnergyModel& model, int64_t iteration) = 0;

  // before_step() is called when the gradients are computed, and after_step() when the parameters
  // have been updated. skip: float32 [], on the device. It is 1 if the step was not made; then no
  // state of the objective follows the batch.
  virtual void before_step() {}
  virtual void after_step(const torch::Tensor& skip) {}
  // Returns true if loss(), before_step() and after_step() launch the same kernels on the same
  // tensors in every iteration of this model, so that they can be captured in a CUDA graph
  // (engine/run/captured_work.h).
  virtual bool repeats(const EnergyModel& model) const { return false; }

  // Returns further metrics of the latest iteration (metrics.h), in iterations that have any. They
  // are the same on all ranks.
  virtual std::vector<std::pair<std::string, double>> signals() const { return {}; }

  // Stores the chains that advance_chains() has moved, at the end of the iteration.
  virtual void keep_chains() {}

  // Returns the numbers and text that must not change when a run is resumed.
  virtual PtDict settings() const = 0;

  // Returns the chains that persist between iterations, for checkpoints: uint8 [slots, D]; there
  // may be no slots.
  virtual torch::Tensor chains() const = 0;
  // Returns the objective's other tensors that persist between iterations, for checkpoints.
  virtual NamedTensors saved_state() const { return {}; }
  // Copies the tensors of a checkpoint into those of saved_state(). Throws Error, naming the file,
  // if they do not fit.
  virtual void load_state(const NamedTensors& saved, const std::string& file);
  // Returns U of the latest iteration's batch, float64 [B], by the name of each part of the batch.
  // It is this rank's part. It is empty before the first iteration, and for objectives without an
  // energy.
  virtual NamedTensors batch_energies() const { return {}; }
  // Redraws the chains whose energy is not finite; `recovery` counts the recoveries from 1.
  virtual void repair(EnergyModel& model, int64_t recovery) {}

  // These draw pictures of the training data and of what the model has learned. They draw nothing
  // if the states are not images.
  virtual void draw_data(const std::filesystem::path& file) = 0;
  virtual void draw_samples(EnergyModel& model, const std::filesystem::path& file) = 0;
};

}  // namespace isinglass
