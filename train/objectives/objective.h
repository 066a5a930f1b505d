// The interface of training objectives. All randomness of an objective is a function of the seed
// and the iteration.
#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/context.h"
#include "engine/sampler.h"
#include "io/pt/pt_file.h"
#include "io/torch.h"
#include "models/energy_model.h"
#include "train/metrics.h"

namespace isinglass {

// The images of a picture that an objective draws, and those in a row of it.
inline constexpr int64_t kPictures = 100, kPictureColumns = 10;
// Draws the first of real-valued images [N, height·width], whose values from 0 to 1 are grey
// levels. Rows of height 1 are points, of which nothing is drawn.
void draw_images(const std::filesystem::path& file, const torch::Tensor& images, int64_t height,
                 int64_t width);

// An iteration's batch, which Objective::draw() makes for loss() and keep(). An objective fills in
// the fields that it uses. If loss() is captured in a CUDA graph, the tensors that it reads have
// the same addresses in every iteration.
struct Batch {
  int64_t iteration = 0;                       // from 1
  torch::Tensor data = {};                     // states [batch, D], of all ranks
  torch::Tensor targets = {};                  // noise or labels of the data, [batch, …]
  torch::Tensor chains = {};                   // states after their steps, of this rank
  torch::Tensor acceptance = {}, hops = {};    // means over these chains and steps, float64 []
  torch::Tensor slots = {};                    // int64 [batch], the chains of all ranks
  std::future<torch::Tensor> all_chains = {};  // the chains of all ranks, in transfer
  // float32 [], 1 if the iteration makes no update because the model has run ahead of its chains;
  // undefined if nothing watches that.
  torch::Tensor pause = {};
  std::string failure = {};  // error of this rank's chains; empty if none
  // Further metrics (metrics.h), in iterations that have any. They are the same on all ranks.
  std::vector<std::pair<std::string, double>> metrics = {};
};

// The loss of an iteration, float64 [], which is differentiable in the model's parameters, and the
// metrics of metrics.h that belong to it, each float64 [] on the device, so that the trainer reads
// all of them in one transfer. If several ranks share a batch, each rank holds its part, and the
// parts add up to the batch's values.
struct Loss {
  torch::Tensor value;
  std::vector<std::pair<std::string, torch::Tensor>> metrics;
  // U, float64 [B], by the name of each part of the batch; this rank's part. Empty for objectives
  // without an energy.
  NamedTensors energies = {};
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

// An iteration is draw() → loss() → backward → update() → keep().
class Objective {
 public:
  virtual ~Objective() = default;

  // Draws the batch of iteration t (from 1), and advances its chains, if the objective has chains,
  // under the model's present parameters.
  virtual Batch draw(EnergyModel& model, int64_t iteration) = 0;

  virtual Loss loss(EnergyModel& model, const Batch& batch) = 0;

  // Updates the parameters, whose gradients are computed, by `step`, which makes the optimiser's
  // step and returns skip, float32 [], on the device. If it is 1, the step was not made; then no
  // state of the objective follows the batch.
  virtual void update(const std::function<torch::Tensor()>& step) { step(); }

  // Returns true if loss() and update() launch the same kernels on the same tensors in every
  // iteration of this model, so that they can be captured in a CUDA graph
  // (engine/run/captured_work.h).
  virtual bool capturable(const EnergyModel& model) const { return false; }

  // Stores the batch's chains, at the end of the iteration.
  virtual void keep(Batch batch) {}

  // Returns the number by which the objective multiplies the planned learning rate; follow()
  // changes it by the metrics of an iteration.
  virtual double rate_factor() const { return 1; }
  virtual void follow(const Metrics& metrics) {}

  // Returns the step size of the chains; nothing if there are no chains or if no test rejects
  // their steps, so that their acceptance does not tell whether they move.
  virtual std::optional<Scale> step_size() const { return {}; }

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
  // Redraws the chains whose energy is not finite; `recovery` counts the recoveries from 1.
  virtual void repair(EnergyModel& model, int64_t recovery) {}

  // These draw pictures of the training data and of what the model has learned. They draw nothing
  // if the states are not images.
  virtual void draw_data(const std::filesystem::path& file) = 0;
  virtual void draw_samples(EnergyModel& model, const std::filesystem::path& file) = 0;
};

}  // namespace isinglass
