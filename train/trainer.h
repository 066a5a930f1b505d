// Training of a model by an objective, such as persistent contrastive divergence (pcd.h) or score
// matching (dsm.h): the loop, and what it leaves in its run directory (run_directory.h).
//
// Everything random comes from (seed, iteration), so that a run that is killed at any moment and
// resumed gives, on the CPU, bit for bit the parameters of a run that was never killed.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/sampler.h"
#include "io/torch.h"
#include "train/adam.h"
#include "train/checkpoint.h"
#include "train/data/dataset.h"
#include "train/ema.h"
#include "train/metrics.h"
#include "train/objectives/objective.h"
#include "train/objectives/pcd.h"
#include "train/run_directory.h"

namespace isinglass {

struct TrainOptions {
  PcdOptions pcd;               // batch, steps, regularisers, seed
  int64_t buffer = 10000;       // chains of it
  int64_t iterations = 50000;   // in all; a resumed run may ask for more
  double learning_rate = 1e-4;  // at iteration t: learning_rate·min(1, t / warmup)
  int64_t warmup = 10000;       // iterations; 0: none
  double ema = 0.999;           // decay of the averaged parameters
  int64_t checkpoint_every = 1000;
  int64_t evaluate_every = 0;       // iterations; 0: never
  std::string program = "unknown";  // source revision, which checkpoints record
};

// Is told what happens: the program's progress bar.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_iteration(const TrainMetrics& metrics) {}
  virtual void on_checkpoint(const std::filesystem::path& file) {}
  virtual void on_message(const std::string& message) {}  // a line of the log
};

struct TrainHooks {
  TrainObserver* observer = nullptr;
  std::function<bool()> stop = {};  // asked after every iteration: true saves and ends the run
  // The score of the model, which carries the averaged parameters during the call; none if it was
  // stopped. Asked every evaluate_every iterations; DIR/best.pt keeps the parameters of the best
  // score without a warning.
  std::function<std::optional<ValidationScore>(EnergyModel&)> validation_score = {};
};

struct TrainResult {
  int64_t iteration = 0;  // the last one made
  bool interrupted = false;
};

class Trainer {
 public:
  // The model is on `device`; the hooks outlive the trainer. Nothing is written yet. Throws Error
  // if an option is out of range.
  Trainer(std::shared_ptr<EnergyModel> model, std::unique_ptr<Objective> objective,
          const TrainOptions& options, TrainHooks hooks = {});

  // By persistent contrastive divergence with options.pcd and options.buffer; the sampler outlives
  // the trainer. Throws Error as PcdObjective.
  Trainer(std::shared_ptr<EnergyModel> model, const Sampler& sampler, const Dataset& data,
          const TrainOptions& options, torch::Device device, TrainHooks hooks = {});

  // One of these two comes before run().
  // A new run. Throws Error if the directory holds checkpoints already or cannot be written.
  void start(const std::filesystem::path& directory);
  // Goes on from the newest readable checkpoint of the directory. Throws Error if there is none, or
  // if it belongs to other settings, another model or another data set.
  void resume(const std::filesystem::path& directory);

  // Trains up to options.iterations, then saves. Throws NumericalError on divergence (non-finite
  // loss or parameters; or |energy_data − energy_model| above one nat a site for 100 iterations in
  // a row), naming the iteration and the last good checkpoint.
  TrainResult run();

  int64_t iteration() const { return iteration_; }

  // One iteration alone, which records and saves nothing: run() is these, with that.
  TrainMetrics iterate();

 private:
  // The loop (trainer.cpp).
  double descend(const torch::Tensor& loss, double learning_rate);  // the gradient's norm
  void check_divergence(const TrainMetrics& metrics, double loss);
  bool evaluation_due() const;
  std::optional<ValidationScore> evaluate();  // none: it was stopped
  void record(TrainMetrics& metrics);
  void log(const std::string& message);

  // Saving and restoring (trainer_state.cpp).
  void save();
  void export_weights() const;
  std::pair<std::filesystem::path, Checkpoint> newest_readable();
  void restore(const Checkpoint& saved, const std::string& file);
  Checkpoint checkpoint() const;
  PtDict settings() const;
  NamedTensors named(const std::vector<torch::Tensor>& of_parameters) const;
  NamedTensors state_dict(const std::vector<torch::Tensor>& parameters) const;  // with buffers

  std::shared_ptr<EnergyModel> model_;
  std::unique_ptr<Objective> objective_;
  TrainOptions options_;
  TrainHooks hooks_;
  std::vector<torch::Tensor> parameters_;  // the model's own
  Adam adam_;
  Ema ema_;
  std::optional<RunDirectory> directory_;

  int64_t iteration_ = 0;           // the last one made
  int64_t saved_ = 0;               // the one of the latest checkpoint
  int64_t suspect_iterations_ = 0;  // in a row, with the energies too far apart
  double best_score_ = -std::numeric_limits<double>::infinity();
  bool unscored_ = false;       // the evaluation after the last iteration was stopped
  double earlier_seconds_ = 0;  // of earlier sittings
  std::chrono::steady_clock::time_point sitting_ = {};  // since when
};

}  // namespace isinglass
