// The metrics of a training iteration: numbers by name, in the order in which they were added.
//   energy_data, energy_model  mean U of data and chains, before the iteration's Adam step
//   difference                 energy_data − energy_model
//   acceptance, hops           means over chains and steps: acceptance; sites changed per step
//   step_size                  the radius, tau or step size of a sampler that adapts it, for the
//                              next iteration
//   lag_share, rate_factor     how well the chains follow the model, and the factor of the learning
//                              rate that follows from it (objectives/lag_control.h)
//   energy_validation, never_visited, autocorrelation, spread
//                              only in some iterations (objectives/chain_diagnostics.h)
//   coupling_rmse              only for an Ising model that learns from states of a known one
//                              (objectives/coupling_error.h); before the step
//   loss                       for objectives without chains of the model, in place of the first
//                              five metrics
//   accuracy, log_ratio_data, log_ratio_noise, log_z_ratio, near_bound
//                              of noise-contrastive estimation (objectives/nce.h): share of states
//                              that are told right, means of h at data and at draws of the base,
//                              log mean exp(−g) over these draws, share of states with |f| > c/2
//   gradient_norm, learning_rate, iterations_per_second (of this iteration)
//   seconds                    elapsed time of the whole run so far [s], including evaluations,
//                              checkpoints and pictures, and, after a resumption, the time of
//                              earlier processes until their last iteration
//   recoveries                 number of recoveries so far, once there has been one
//   skipped                    number of iterations so far that made no update because their loss
//                              or gradient was not finite, once there has been one
//   validation_score, validation_weight_ess
//                              in iterations that were evaluated
//   validation_standard_error  of a score by importance weights of the base of a residual model
//   validation_verdict         a text that says what these are worth; the metrics file adds it
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/pt/pt_file.h"

namespace isinglass {

struct Metrics {
  int64_t iteration = 0;  // counted from 1
  std::vector<std::pair<std::string, double>> values = {};

  void add(std::string name, double value) { values.emplace_back(std::move(name), value); }
  std::optional<double> find(const std::string& name) const;
};

// A score is based on forward annealing only (engine/annealing/verdict.h), or on importance weights
// of a base (engine/annealing/base_weights.h). It ranks checkpoints, but does not bound the
// likelihood from both sides.
inline constexpr const char* kValidationVerdict = "open: forward annealing alone";
inline constexpr const char* kWeightsVerdict = "open: importance weights of the base alone";

// The score of a model on validation images; higher is better.
struct ValidationScore {
  double value = 0;
  double weight_ess = 0;     // of the weights that it is based on
  std::string warning = {};  // why it cannot be compared with others; empty if it can
  // Standard error of log Z; only a score by importance weights of a base has one.
  std::optional<double> standard_error = {};

  const char* verdict() const { return standard_error ? kWeightsVerdict : kValidationVerdict; }
};

void add_score(Metrics& metrics, const ValidationScore& score);

// Receives the events of a run. The metrics file and the progress bar of the program are observers.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  // Called when the iterations after this one are about to be made, for the first time or again.
  virtual void on_start(int64_t iteration) {}
  virtual void on_iteration(const Metrics& metrics) {}
  // Called with the score of the latest iteration if its evaluation was interrupted earlier.
  virtual void on_score(const ValidationScore& score) {}
  virtual void on_checkpoint(const std::filesystem::path& file) {}
  // Called with each checkpoint: U of the latest iteration's batch, float64 [batch], by the name of
  // each part of the batch.
  virtual void on_energies(int64_t iteration, const NamedTensors& energies) {}
  virtual void on_message(const std::string& message) {}  // a line of the log
  // Called with a message that the user should see at once.
  virtual void on_warning(const std::string& message) {}
};

}  // namespace isinglass
