// What a user reads beside acceptance and energies to see whether chains that persist serve, and what the model
// has learned by heart:
//
//   never_visited      share of the buffer that no iteration has drawn yet; every 200 iterations
//   energy_validation  mean U of the first 500 validation images, or all; every 200 iterations, like energy_data
//                      before the optimiser's step; it moves away above that where images are learned by heart
//   autocorrelation    of U in the first 16 slots: Pearson's correlation, under the present parameters, of the
//                      energies of their states now and L iterations ago, in which a slot makes a thousand
//                      steps on average: L = ⌈1000 buffer / (batch steps)⌉. About 0, ± ¼ of noise, where chains
//                      mix; 1 where each stays. Every L iterations, from the 2 L-th on.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/pt/pt_file.h"
#include "models/energy_model.h"
#include "train/data/dataset.h"
#include "train/objectives/pcd.h"
#include "train/objectives/replay_buffer.h"

namespace isinglass {

class ChainSignals {
 public:
  ChainSignals(const Dataset& data, const PcdOptions& options, torch::Device device);

  // Of an iteration, before its optimiser's step; `slots` are those that it draws, `buffer` the chains as
  // the one before has left them. Model calls are made in few iterations alone.
  void look(EnergyModel& model, const ReplayBuffer& buffer, const torch::Tensor& slots,
            int64_t iteration);

  // What the latest look has seen.
  const std::vector<std::pair<std::string, double>>& seen() const { return seen_; }

  // In checkpoints; take() takes its own out of `saved`. Where a checkpoint lacks them, what was visited is not
  // known from then on, and the slots are watched anew.
  NamedTensors carried() const;
  void take(NamedTensors& saved, const std::string& file);

 private:
  int64_t buffer_, lag_;      // slots; L, 0: no chains persist
  torch::Tensor validation_;  // uint8 [at most 500, D]; undefined: the set has none
  torch::Tensor visited_;     // uint8 [buffer]; undefined: not known
  torch::Tensor watched_;     // uint8 [at most 16, D]: the slots at the latest multiple of L
  bool watching_ = false;     // there was one
  std::vector<std::pair<std::string, double>> seen_;
};

}  // namespace isinglass
