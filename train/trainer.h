// Training of a model by an objective, such as persistent contrastive divergence (pcd.h) or score
// matching (dsm.h): the training loop and the files of its run directory (run_directory.h).
//
// All randomness is a function of (seed, iteration). Therefore a run that is killed at any moment
// and resumed gives, on the CPU, the same parameters bit for bit as a run that was never killed.
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

#include "engine/run/captured_work.h"
#include "io/torch.h"
#include "train/checkpoint.h"
#include "train/divergence.h"
#include "train/metrics.h"
#include "train/metrics_file.h"
#include "train/objectives/objective.h"
#include "train/optimiser/adam.h"
#include "train/optimiser/ema.h"
#include "train/optimiser/learning_rate.h"
#include "train/run_directory.h"

namespace isinglass {

struct TrainOptions {
  int64_t iterations = 50000;                       // in total; a resumed run may ask for more
  double learning_rate = 1e-4;                      // after the warm-up (optimiser/learning_rate.h)
  int64_t warmup = 10000;                           // iterations; 0: none
  RateSchedule schedule = RateSchedule::kConstant;  // falls to end_rate at `iterations`
  double end_rate = 0;
  double clip = 0;          // largest norm of the gradient; 0: none
  double weight_decay = 0;  // see optimiser/adam.h
  double beta1 = Adam::kBeta1;
  double ema = 0.999;  // decay of the averaged parameters
  int64_t checkpoint_every = 1000;
  int64_t evaluate_every = 0;       // iterations; 0: never
  int64_t recover = 3;              // recoveries allowed within the iterations of ten checkpoints
  std::string program = "unknown";  // source revision, recorded in checkpoints
};

struct TrainHooks {
  // All ranks have the same parameters and make the same optimiser steps, with the sum of their
  // gradients. Rank 0 writes the files.
  const Ranks* ranks = &Ranks::single_process();
  TrainObserver* observer = nullptr;
  // Called in every iteration, by a single process after the observer; true saves and ends the run.
  std::function<bool()> stop = {};
  // Returns the score of the model, or nothing if it was stopped. During the call the model's
  // parameters are the averaged ones. It is called every evaluate_every iterations. DIR/best.pt
  // holds the parameters of the best score without a warning.
  std::function<std::optional<ValidationScore>(EnergyModel&)> validation_score = {};
};

struct TrainResult {
  int64_t iteration = 0;  // the last one made
  bool interrupted = false;
  int64_t recoveries = 0;
  int64_t skipped = 0;  // number of iterations that made no update
};

class Trainer {
 public:
  // The hooks must outlive the trainer. Nothing is written yet. Throws Error if an option is out of
  // range.
  Trainer(std::shared_ptr<EnergyModel> model, std::unique_ptr<Objective> objective,
          const TrainOptions& options, TrainHooks hooks = {});

  // One of start() and resume() must be called before run().
  //
  // start() begins a new run. Throws Error if the directory holds checkpoints already or cannot be
  // written.
  void start(const std::filesystem::path& directory);
  // Resumes from the newest readable checkpoint of the directory. Throws Error if there is none, or
  // if it belongs to other settings, another model or another data set.
  void resume(const std::filesystem::path& directory);

  // Trains up to options.iterations, then saves. An iteration whose loss or gradient is not finite
  // leaves parameters, averages and moments as they are, and the metrics and log.txt report it. A
  // run that diverges (non-finite energies of chains, non-finite parameters, or a test of
  // divergence.h) recovers: it goes back to a checkpoint from before the last kSuspectStretch
  // iterations, halves the learning rate for the rest of the run, clears Adam's moments, lets the
  // objective repair its chains, and goes on. Throws NumericalError, naming the iteration and the
  // checkpoint to go back to or what to change, if there were options.recover recoveries already
  // within the iterations of ten checkpoints.
  TrainResult run();

  int64_t iteration() const { return iteration_; }
  double learning_rate() const;  // of the present iteration

  // Makes one iteration, which records and saves nothing; run() calls it in a loop and does the
  // rest. Its metrics are read from the device in one transfer. Throws NumericalError if the run
  // diverges.
  Metrics iterate();

 private:
  // The training loop (trainer.cpp). descend() computes the loss of a batch and its gradient,
  // updates the parameters and the averages, and sets numbers_ and energies_.
  void descend(const Batch& batch);
  bool to_stop() const { return hooks_.stop && hooks_.stop(); }
  void note_skipped(double loss, double norm);
  TrainResult result(bool interrupted) const;
  // Sums the gradients over ranks, and `scalars` in the same transfer.
  void add_up(std::vector<torch::Tensor>& gradients, torch::Tensor& scalars) const;
  torch::Tensor parameters_finite() const;
  bool evaluation_due() const;
  std::optional<ValidationScore> evaluate();  // nothing if it was stopped
  void notify(const std::function<void(TrainObserver&)>& event);
  void log(const std::string& message);
  void warn(const std::string& message);  // also writes to the log
  void warn_of_chains(const Metrics& metrics);

  // Saving and restoring (trainer_state.cpp).
  const Ranks& ranks() const { return *hooks_.ranks; }
  void save();
  void check_parameters() const;  // throws if they differ between ranks
  void recover(const std::string& reason);
  int64_t recovery_spacing() const;
  void export_weights() const;
  std::pair<std::filesystem::path, Checkpoint> newest_readable();
  void restore(const Checkpoint& saved, const std::string& file);
  Checkpoint checkpoint() const;
  PtDict functions() const;
  PtDict settings() const;
  PtDict plan() const;                                  // of the learning rate
  double planned_rate(const LearningRate& plan) const;  // of the present iteration
  void warn_of_plan(const Checkpoint& resumed);
  void warn_of_warmup();
  NamedTensors named(const std::vector<torch::Tensor>& of_parameters) const;
  NamedTensors state_dict(const std::vector<torch::Tensor>& parameters) const;  // with buffers

  std::shared_ptr<EnergyModel> model_;
  std::unique_ptr<Objective> objective_;
  TrainOptions options_;
  TrainHooks hooks_;
  std::vector<torch::Tensor> parameters_;  // the model's own
  Adam adam_;
  Ema ema_;
  CapturedWork descent_;   // descend() as a CUDA graph, if the objective's part repeats
  torch::Tensor to_stop_;  // float64 []; 1 if this one of several ranks was told to stop
  // float64 [5 + metrics], on the device: whether the parameters are finite, the gradient's norm,
  // and whether the update was skipped; then, summed over ranks, to_stop_, the loss, and the
  // objective's metrics, whose names are in names_.
  torch::Tensor numbers_;
  std::vector<std::string> names_;
  NamedTensors energies_;  // U of the latest batch, this rank's part; empty before it
  std::optional<RunDirectory> directory_;
  std::optional<MetricsFile> metrics_file_;  // the metrics file of the directory

  int64_t iteration_ = 0;            // the last one made
  int64_t saved_ = 0;                // iteration of the latest checkpoint
  int64_t planned_from_ = 0;         // iteration at which the schedule of the learning rate begins
  std::vector<int64_t> recoveries_;  // the iterations that diverged
  int64_t skipped_ = 0;              // number of iterations that made no update
  std::string why_skipped_;          // reason of the latest iteration; empty if it made its update
  Divergence divergence_;
  double best_score_ = -std::numeric_limits<double>::infinity();
  bool stopped_ = false;             // a rank was told to stop
  bool evaluation_pending_ = false;  // the evaluation after the last iteration was stopped
  double earlier_seconds_ = 0;       // elapsed time of earlier processes
  std::chrono::steady_clock::time_point sitting_ = {};  // start of this process's run()
};

}  // namespace isinglass
