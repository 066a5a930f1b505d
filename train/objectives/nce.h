// Noise-contrastive estimation of a residual model (models/combined/residual.h; Gutmann & Hyvärinen
// 2010, "Noise-contrastive estimation: a new estimation principle for unnormalized statistical
// models"). The network learns to tell the data from draws of the base, which stays as it is:
//
//   h(x) = −g(x) + b
//   L    = ½ E_data log(1 + exp(−h)) + ½ E_base log(1 + exp(h))
//
// At the minimum, h = log p_data/p_base, so that the model is the data's distribution and b = −log
// Z/Z_base. No chain runs through the network. The noise are as many persistent chains of the base
// as there are images in a batch; every iteration makes `sweeps` Gibbs sweeps of each.
//
// b has steps of its own, b −= kGain·L'/L'' with the derivatives of the batch in b, which are at
// most one nat long. They follow the network within tens of iterations.
#pragma once

#include "models/combined/residual.h"
#include "train/data/batches.h"
#include "train/data/dataset.h"
#include "train/objectives/objective.h"

namespace isinglass {

struct NceOptions {
  static constexpr int64_t kDefaultSweeps = 5;

  int64_t batch = 100;  // number of images, and of chains of the base
  int64_t sweeps = kDefaultSweeps;
  uint64_t seed = 0;
};

// L and its parts, float64 []. `loss` is differentiable in the network's parameters.
struct NceLoss {
  torch::Tensor loss;
  torch::Tensor accuracy;           // share of the states that the sign of h tells right
  torch::Tensor at_data, at_noise;  // means of h
  torch::Tensor pressed;            // share of the states with |f| > c/2; undefined without a bound
  torch::Tensor slope, curvature;   // L' and L'' in b
  torch::Tensor weight;             // mean of exp(−g) over the noise
};

// data, noise: states [B, D] of the model; constant: b, float64 [].
NceLoss nce_loss(ResidualModel& model, const torch::Tensor& data, const torch::Tensor& noise,
                 const torch::Tensor& constant);

class NceObjective : public Objective {
 public:
  static constexpr double kGain = 0.1;

  // iterations: the length of the whole run. Throws Error if an option is out of range, if the
  // model is not a residual model whose base has Gibbs sweeps, or if its states do not match the
  // data's images.
  NceObjective(EnergyModel& model, const Dataset& data, const NceOptions& options,
               int64_t iterations, torch::Device device,
               const Ranks& ranks = Ranks::single_process());

  // Draws the iteration's data and advances this rank's share of the base's chains, which begin in
  // the first iteration.
  Batch draw(EnergyModel& model, int64_t iteration) override;
  Loss loss(EnergyModel& model, const Batch& batch) override;
  // Makes the step of b as well.
  void update(const std::function<torch::Tensor()>& step) override;
  void keep(Batch batch) override;
  PtDict settings() const override;
  torch::Tensor chains() const override { return chains_; }
  NamedTensors saved_state() const override { return {{"constant", constant_}}; }
  void draw_data(const std::filesystem::path& file) override;
  void draw_samples(EnergyModel&, const std::filesystem::path&) override {}  // it draws none

 private:
  NceOptions options_;
  int64_t height_, width_;
  int white_;  // the largest value of a pixel
  std::string data_sha256_;
  Batches batches_;
  const Ranks& ranks_;
  BatchShare share_;
  torch::Tensor numbers_;      // int64 [batch], of the chains
  torch::Tensor chains_;       // uint8 [batch, D]
  torch::Tensor constant_;     // b, float64 []
  torch::Tensor derivatives_;  // of the latest loss in b: {L', L''}, float64 [2], of all ranks
};

}  // namespace isinglass
