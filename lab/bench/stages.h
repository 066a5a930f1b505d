// The stages that `isinglass bench` times: of a model and a sampler, and the machine's bounds.
//
//   energy               U of all chains
//   energy-gradient      U and its gradient in the state
//   energy-differences   U and its exact differences, of samplers that read them
//   proposal             of a step, all but the model calls, up to the last call's return
//   acceptance           of a step, the rest: the reversed path's score, the test, the selection
//   step                 a whole step, undisturbed; on a GPU one of as many as a kernel takes at once
//   scan                 the same of parallel tempering: `exploration` steps of all chains, which are
//                        ensembles of `rungs` states each, exact draws on the lowest rung, a round
//                        of swaps
//   ais-step             a step of annealed importance sampling
//   training-iteration   persistent contrastive divergence: chains, loss, optimiser, average
//   sgemm-N              a float32 product of two N×N matrices
//   copy                 a copy of 256 MiB: the bytes read and those written
//
// proposal and acceptance are clocked inside steps of other chains, by a model that stands between
// the sampler and the one it calls: on a GPU that synchronises where a step does not, and a sampler
// cannot take short cuts that the model behind it may offer.
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

const std::vector<std::string>& stage_names();
bool is_bound(const std::string& stage);

// What the stages work on. Model and sampler outlive them.
struct BenchSubject {
  EnergyModel& model;
  const Sampler& sampler;
  std::shared_ptr<EnergyModel> trained;  // another one, which training changes; null: not trainable
  torch::Device device;
  int64_t chains, burn_in, rungs, exploration;
  // Ensembles on `rungs` equal steps of β. Throws Error where there are none.
  std::function<std::unique_ptr<Sampler>()> tempering;
  int64_t image_height, image_width;
  int64_t steps_per_iteration;
  uint64_t seed;
  bool cuda_graph;
  std::function<bool()> stop;  // asked in the burn-in
};

// Why there is no such stage for the subject, as the end of a sentence; none if there is.
std::optional<std::string> obstacle(const std::string& stage, const BenchSubject& subject);

// The named stages, for which there is no obstacle. Makes the chains, with their burn-in, and
// checks that a step's energies are those of its states.
std::vector<Stage> make_stages(const std::vector<std::string>& names, const BenchSubject& subject);

}  // namespace isinglass
