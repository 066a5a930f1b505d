// Persistent contrastive divergence (pcd.h) as an objective, with batches of binary or categorical
// images, or of points, and with chains in a replay buffer. Chains of continuous sites keep to
// bounds, if there are any (models/bounds.h). So do data with noise, which are reflected like the
// chains.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "engine/sampler.h"
#include "models/combined/bounded.h"
#include "train/data/batches.h"
#include "train/data/dataset.h"
#include "train/objectives/chain_diagnostics.h"
#include "train/objectives/coupling_error.h"
#include "train/objectives/fresh_chains.h"
#include "train/objectives/lag_control.h"
#include "train/objectives/missing_values.h"
#include "train/objectives/objective.h"
#include "train/objectives/pcd.h"
#include "train/objectives/replay_buffer.h"
#include "train/objectives/tempered_rungs.h"
#include "train/optimiser/centring.h"

namespace isinglass {

class PcdObjective : public Objective {
 public:
  // iterations: the length of the whole run. Throws Error if an option is out of range, or if the
  // model's states do not match the data's images. The sampler must outlive this object, and so
  // must a model that is centred or tempered.
  PcdObjective(EnergyModel& model, const Sampler& sampler, const Dataset& data,
               const PcdOptions& options, int64_t iterations, torch::Device device,
               const Ranks& ranks = Ranks::single_process());

  // Draws the iteration's data, with samples of their missing values (missing_values.h), and
  // `batch` distinct slots of the buffer, restarts some of their chains, and advances this rank's
  // share of them. In contrastive divergence the chains start at the data, one slot each.
  Batch draw(EnergyModel& model, int64_t iteration) override;
  Loss loss(EnergyModel& model, const Batch& batch) override;
  void update(const std::function<torch::Tensor()>& step) override;
  bool capturable(const EnergyModel& model) const override;
  // Writes the chains of all ranks back to the buffer. Their transfer began in draw() and ends
  // here. Throws NumericalError on every rank if the chains of one rank have failed.
  void keep(Batch batch) override;
  std::optional<Scale> step_size() const override;
  double rate_factor() const override { return lag_ ? lag_->factor() : 1; }
  void follow(const Metrics& metrics) override;
  PtDict settings() const override;
  torch::Tensor chains() const override { return buffer_.states(); }
  NamedTensors saved_state() const override;
  void load_state(const NamedTensors& saved, const std::string& file) override;
  void repair(EnergyModel& model, int64_t recovery) override;
  void draw_data(const std::filesystem::path& file) override;
  void draw_samples(EnergyModel& model, const std::filesystem::path& file) override;

 private:
  // drawn: the data with draws in the place of missing values.
  PcdObjective(EnergyModel& model, const Sampler& sampler, const Dataset& data,
               const Dataset& drawn, const PcdOptions& options, int64_t iterations,
               torch::Device device, const Ranks& ranks);
  void begin_at_data(int64_t iterations);
  // Returns the states of the iteration's data, with samples of what is missing and with noise.
  torch::Tensor data_of(EnergyModel& model, int64_t iteration);
  void draw_real(const std::filesystem::path& file, const torch::Tensor& states) const;
  // Returns the tensors of saved_state() without those of the diagnostics.
  NamedTensors offsets_and_chains() const;

  // Returns the model that chains sample, with the bounds of its states.
  EnergyModel& sampled(EnergyModel& model) const { return bounded_ ? *bounded_ : model; }

  std::shared_ptr<BoundedModel> bounded_;  // null if the options give no bounds
  PcdOptions options_;
  std::optional<Bounds> bounds_;
  const Sampler& sampler_;
  PcdSampling sampling_;
  int64_t values_, white_;  // values per site; the largest value of a pixel
  int64_t height_, width_;
  std::string data_sha256_;
  Batches batches_;
  ReplayBuffer buffer_;
  const Ranks& ranks_;
  BatchShare share_;
  torch::Tensor data_;  // the latest batch's data, whose address a CUDA graph holds
  ChainDiagnostics signals_;
  std::optional<MissingValues> missing_;
  std::optional<Centring> centring_;
  std::optional<LagControl> lag_;
  torch::Tensor left_;  // U of the latest batch's chains after their steps, of all ranks, for lag_
  std::optional<TemperedRungs> rungs_;
  std::optional<FreshChains> fresh_;
  // Defined if the data were drawn from known couplings.
  std::optional<CouplingError> coupling_error_;
};

}  // namespace isinglass
