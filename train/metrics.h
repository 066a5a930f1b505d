// What is known of one training iteration: numbers by name, in the order in which they came up.
//   energy_data, energy_model  mean U of data and chains, before the iteration's Adam step
//   difference                 energy_data − energy_model
//   acceptance, hops           means over chains and steps: acceptance; sites changed per step
//   energy_validation, never_visited, autocorrelation
//                              in some iterations alone (objectives/chain_signals.h)
//   coupling_rmse              of an ising that learns from states of a known one
//                              (objectives/coupling_error.h), before the step
//   loss                       of an objective without chains, in place of the five before
//   gradient_norm, learning_rate, iterations_per_second (of this iteration)
//   seconds                    of the whole run so far: evaluations, checkpoints and pictures
//                              count, and earlier sittings until their last iteration
//   recoveries                 so far, from the first one on
//   skipped                    iterations so far that made no update, since their loss or gradient
//                              was not finite, from the first one on
//   validation_score, validation_weight_ess    in iterations that were evaluated; the file adds
//   validation_verdict                         what they are worth, a text
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
  int64_t iteration = 0;  // from 1
  std::vector<std::pair<std::string, double>> values = {};

  void add(std::string name, double value) { values.emplace_back(std::move(name), value); }
  std::optional<double> find(const std::string& name) const;
};

// Of a model on validation images; higher is better.
struct ValidationScore {
  double value = 0;
  double weight_ess = 0;     // of the annealing that it rests on
  std::string warning = {};  // why it cannot be compared with others; empty: it can
};

// A score rests on forward annealing alone (engine/annealing/verdict.h), which ranks checkpoints and
// holds no likelihood from both ends.
inline constexpr const char* kValidationVerdict = "open: forward annealing alone";

void add_score(Metrics& metrics, const ValidationScore& score);

// Is told what happens in a run: the file of metrics, the program's progress bar.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  // Iterations after this one are made now, for the first time or again.
  virtual void on_start(int64_t iteration) {}
  virtual void on_iteration(const Metrics& metrics) {}
  // Of the latest iteration, whose evaluation was interrupted.
  virtual void on_score(const ValidationScore& score) {}
  virtual void on_checkpoint(const std::filesystem::path& file) {}
  // With a checkpoint: U of the latest iteration's batch, of what it is by name, float64 [batch].
  virtual void on_energies(int64_t iteration, const NamedTensors& energies) {}
  virtual void on_message(const std::string& message) {}  // a line of the log
  // One that the user should see at once.
  virtual void on_warning(const std::string& message) {}
};

}  // namespace isinglass
