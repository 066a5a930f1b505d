// Persistent contrastive divergence (pcd.h) as an objective: batches of binary or categorical images, and chains
// in a replay buffer.
#pragma once

#include <future>
#include <optional>

#include "engine/sampler.h"
#include "train/data/batches.h"
#include "train/data/dataset.h"
#include "train/objectives/chain_signals.h"
#include "train/objectives/coupling_error.h"
#include "train/objectives/fresh_chains.h"
#include "train/objectives/objective.h"
#include "train/objectives/pcd.h"
#include "train/objectives/replay_buffer.h"
#include "train/objectives/tempered_rungs.h"
#include "train/optimiser/centring.h"

namespace isinglass {

class PcdObjective : public Objective {
 public:
  // `iterations` in all. Throws Error if an option is out of range, or the model's states are not
  // those of the data's images. The sampler, and a model that is centred or tempered, outlive
  // this.
  PcdObjective(EnergyModel& model, const Sampler& sampler, const Dataset& data,
               const PcdOptions& options, int64_t iterations, torch::Device device,
               const Ranks& ranks = Ranks::alone());

  // Draws the iteration's data, and `batch` distinct slots of the buffer, and restarts some; or, in
  // contrastive divergence, starts at the data, a slot each; and moves this rank's share of the chains.
  void advance_chains(EnergyModel& model, int64_t iteration) override;
  Loss loss(EnergyModel& model, int64_t iteration) override;
  void before_step() override;
  void after_step(const torch::Tensor& skip) override;
  bool repeats(const EnergyModel& model) const override;
  std::vector<std::pair<std::string, double>> signals() const override { return signals_.seen(); }
  // Writes the chains of all ranks back, which have been on their way since advance_chains(). Throws
  // NumericalError on all of them if those of one have failed.
  void keep_chains() override;
  PtDict settings() const override;
  torch::Tensor chains() const override { return buffer_.states(); }
  NamedTensors carried() const override;
  void take(const NamedTensors& saved, const std::string& file) override;
  NamedTensors batch_energies() const override { return batch_energies_; }
  void repair(EnergyModel& model, int64_t recovery) override;
  void draw_data(const std::filesystem::path& file) override;
  void draw_samples(EnergyModel& model, const std::filesystem::path& file) override;

 private:
  void begin_at_data(int64_t iterations);
  NamedTensors offsets_and_chains() const;  // of `carried`, all but the signals'

  PcdOptions options_;
  const Sampler& sampler_;
  PcdSampling sampling_;
  int64_t values_, white_;  // of a site; the largest one of a pixel
  int64_t height_, width_;
  std::string data_sha256_;
  Batches batches_;
  ReplayBuffer buffer_;
  const Ranks& ranks_;
  BatchShare share_;
  torch::Tensor data_;                   // of all ranks, of the latest iteration
  PcdChains chains_;                     // this rank's, of that
  std::future<torch::Tensor> everyone_;  // the chains of all ranks
  torch::Tensor slots_;                  // of all ranks' chains
  std::string failure_;                  // of this rank's chains; empty: none
  NamedTensors batch_energies_;
  ChainSignals signals_;
  std::optional<Centring> centring_;
  std::optional<TemperedRungs> rungs_;
  std::optional<FreshChains> fresh_;
  std::optional<CouplingError> coupling_error_;  // where data are drawn from known couplings
};

}  // namespace isinglass
