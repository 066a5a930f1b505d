// Defines the stages that `isinglass bench` times: parts of a model's and a sampler's work, and the
// machine's bounds.
//
//   energy               the energies U of all chains
//   energy-gradient      U and its gradient with respect to the state
//   energy-differences   U and its exact differences, for samplers that read them
//   proposal             the part of a step up to the return of its last model call, without the
//                        time of the model calls
//   acceptance           the rest of a step: score of the reversed path, accept test, selection
//   step                 a whole step, not clocked inside; on a GPU one of the several steps that a
//                        kernel takes at once
//   scan                 a scan of parallel tempering: `exploration` steps of all chains, which
//                        form ensembles of `rungs` states each, exact draws on the lowest rung,
//                        and a round of swaps
//   ais-step             a step of annealed importance sampling
//   training-iteration   an iteration of persistent contrastive divergence: chains, loss,
//                        optimiser, parameter average
//   sgemm-N              a float32 product of two N×N matrices
//   copy                 a copy of 256 MiB; the bytes read and the bytes written both count
//
// proposal and acceptance are clocked inside the steps of separate chains, by a model that wraps
// the one under test. On a GPU this synchronises where a plain step does not, and the sampler
// cannot use shortcuts that the wrapped model may offer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/sampler.h"
#include "lab/bench/measurement.h"
#include "train/trainer.h"

namespace isinglass {

bool is_bound(const std::string& stage);

// Holds what the stages work on. The model and the sampler must outlive the stages.
struct BenchSubject {
  EnergyModel& model;
  const Sampler& sampler;
  // Training changes the parameters of this second model; null if the model cannot be trained.
  std::shared_ptr<EnergyModel> trained;
  torch::Device device;
  int64_t chains, burn_in, rungs, exploration;
  // Makes ensembles on `rungs` equally spaced values of β. Throws Error if the model or the sampler
  // cannot be tempered.
  std::function<std::unique_ptr<Sampler>()> tempering;
  int64_t image_height, image_width;
  int64_t steps_per_iteration;
  uint64_t seed;
  bool cuda_graph;
  std::function<bool()> stop;  // It is polled during burn-in.
};

// Returns why the subject lacks the stage, as the end of a sentence, or nothing if it has the
// stage.
std::optional<std::string> obstacle(const std::string& stage, const BenchSubject& subject);

// Makes the named stages, for which there must be no obstacle. Makes the chains, with their
// burn-in, and checks that the energies that a step leaves are those of its states.
std::vector<Stage> make_stages(const std::vector<std::string>& names, const BenchSubject& subject);

}  // namespace isinglass
