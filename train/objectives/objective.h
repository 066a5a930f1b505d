// What training descends. Everything random in it is a function of the seed and the iteration.
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

// The loss of an iteration, float64 [], differentiable in the model's parameters; and what
// metrics.h says of it, float64 [] each, on the device: the trainer reads all of them at once. Of
// several ranks, which share a batch, each has its part: they add up to the batch's.
struct Loss {
  torch::Tensor value;
  std::vector<std::pair<std::string, torch::Tensor>> metrics;
};

// A rank's images, or chains, of an iteration's batch, and the share of a mean over the batch that a
// mean over them is.
struct BatchShare {
  Share own;
  int64_t most;  // of any rank
  double weight;

  // Throws Error if there are more ranks than images.
  BatchShare(const Ranks& ranks, int64_t batch);
};

class Objective {
 public:
  virtual ~Objective() = default;

  // Moves the chains of iteration t (from 1) under the model's present parameters, where there are
  // any; before loss().
  virtual void advance_chains(EnergyModel& model, int64_t iteration) {}

  virtual Loss loss(EnergyModel& model, int64_t iteration) = 0;

  // Around the optimiser's step: the gradients are there, the parameters have moved. skip: float32
  // [], on the device; where it is 1 the step was not made, and nothing follows the batch.
  virtual void before_step() {}
  virtual void after_step(const torch::Tensor& skip) {}
  // Whether loss() and these two are the same kernels on the same tensors in every iteration
  // (engine/run/captured_work.h), of this model.
  virtual bool repeats(const EnergyModel& model) const { return false; }

  // What metrics.h says of the latest iteration beside its loss, in those where there is any: the same on all
  // ranks.
  virtual std::vector<std::pair<std::string, double>> signals() const { return {}; }

  // Keeps the chains that advance_chains() has moved, at the end of the iteration.
  virtual void keep_chains() {}

  // Numbers and text that may not change between the sittings of a run.
  virtual PtDict settings() const = 0;

  // What it carries from iteration to iteration, for checkpoints: uint8 [slots, D], maybe no slots.
  virtual torch::Tensor chains() const = 0;
  // Tensors of its own beside them.
  virtual NamedTensors carried() const { return {}; }
  // Copies into them those of a checkpoint. Throws Error, naming the file, if they do not fit.
  virtual void take(const NamedTensors& saved, const std::string& file);
  // U of the latest iteration's batch, of what it is by name, float64 [B]: this rank's part. None before
  // the first, or where there is no energy.
  virtual NamedTensors batch_energies() const { return {}; }
  // Draws the chains anew whose energy is not finite; `recovery` counts from 1.
  virtual void repair(EnergyModel& model, int64_t recovery) {}

  // Pictures of the training data and of what the model has learned; none where states are no
  // images.
  virtual void draw_data(const std::filesystem::path& file) = 0;
  virtual void draw_samples(EnergyModel& model, const std::filesystem::path& file) = 0;
};

}  // namespace isinglass
