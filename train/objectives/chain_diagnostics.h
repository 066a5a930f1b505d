// Diagnostics of persistent training chains and of memorisation, beyond acceptance and energies:
//
//   never_visited      share of the buffer's slots that no iteration has drawn so far. It is
//                      reported every 200 iterations.
//   energy_validation  mean U of the first 500 validation images, or of all if there are fewer. It
//                      is reported every 200 iterations and taken before the optimiser's step, like
//                      energy_data. It rises away from energy_data where the model memorises
//                      images.
//   autocorrelation    of U in the first 16 slots: Pearson's correlation, under the present
//                      parameters, of the energies of their states now and L iterations ago. A slot
//                      makes a thousand steps on average in that time:
//                      L = ⌈1000 buffer / (batch steps)⌉. It is about 0 (with noise of ± ¼) where
//                      chains mix, and 1 where each chain stays where it is. It is reported every L
//                      iterations, from the 2 L-th on.
//   spread             mean number of sites in which two of the chains differ, over that of two
//                      training images: Σ_i (1 − Σ_k p_ik²) of the frequencies p of the values k at
//                      the sites i. It is about 1 where the chains follow the model, since training
//                      makes their frequencies those of the images, and 0 where all chains are in
//                      the same state. For continuous sites it is the ratio of the mean squared
//                      distances. At most 1000 chains and images are compared. It is reported
//                      every 200 iterations, unless all images are the same.
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

class ChainDiagnostics {
 public:
  ChainDiagnostics(const Dataset& data, const PcdOptions& options, torch::Device device);

  // Updates the diagnostics of an iteration; must be called before its optimiser's step. `slots`
  // are the slots that the iteration draws, and `buffer` holds the chains as the previous iteration
  // left them. The model is evaluated in few iterations only.
  void update(EnergyModel& model, const ReplayBuffer& buffer, const torch::Tensor& slots,
              int64_t iteration);

  // Returns the values computed by the latest update(), by name.
  const std::vector<std::pair<std::string, double>>& seen() const { return seen_; }

  // saved_state() returns the state for checkpoints; load_state() restores it and removes its
  // tensors from `saved`. If a checkpoint lacks them, `never_visited` is no longer reported and the
  // autocorrelation starts over.
  NamedTensors saved_state() const;
  void load_state(NamedTensors& saved, const std::string& file);

 private:
  int64_t buffer_, lag_;      // buffer size [slots]; L [iterations], 0 if no chains persist
  torch::Tensor validation_;  // uint8 [at most 500, D]; undefined if the set has none
  int64_t values_;            // number of values of a site
  // Mean number of sites in which two training images differ; 0 if no chains persist.
  double images_differ_ = 0;
  torch::Tensor visited_;  // uint8 [buffer], 1 if drawn; undefined if not known
  torch::Tensor watched_;  // uint8 [at most 16, D]: the slots at the latest multiple of L
  bool watching_ = false;  // whether watched_ holds states of such an iteration
  std::vector<std::pair<std::string, double>> seen_;
};

}  // namespace isinglass
