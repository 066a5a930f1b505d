// Denoising score matching of an energy network (Vincent 2011, "A connection between score matching
// and denoising autoencoders"; FHL paper, eq. 3):
//
//   L = E_{x, ε ~ N(0, I)} ‖ε/σ − ∇U(x + σε)‖²
//
// At its minimum, −∇U is the score of the data smoothed by N(0, σ² I). The data are points, float32
// [N, D]; images are taken as points of grey levels from 0 to 1.
#pragma once

#include "train/data/batches.h"
#include "train/data/dataset.h"
#include "train/objectives/objective.h"

namespace isinglass {

struct DsmOptions {
  int64_t batch = 100;
  double noise = 0.1;  // σ
  uint64_t seed = 0;
};

// Returns L over a batch of points and noises ε, both float32 [B, D]. The loss is differentiable in
// the parameters.
torch::Tensor dsm_loss(EnergyModel& model, const torch::Tensor& points, const torch::Tensor& noise,
                       double sigma);

class DsmObjective : public Objective {
 public:
  // data.train must be float32 [N, D]. Throws Error if an option is out of range or if the model's
  // states do not match the data.
  DsmObjective(const EnergyModel& model, const Dataset& data, const DsmOptions& options,
               torch::Device device, const Ranks& ranks = Ranks::single_process());

  Batch draw(EnergyModel& model, int64_t iteration) override;
  Loss loss(EnergyModel& model, const Batch& batch) override;
  PtDict settings() const override;
  torch::Tensor chains() const override;
  void draw_data(const std::filesystem::path& file) override;
  // Draws noisy training images as the model denoises them: x + σε − σ²∇U(x + σε).
  void draw_samples(EnergyModel& model, const std::filesystem::path& file) override;

 private:
  torch::Tensor noise(int64_t iteration) const;  // ε, float32 [batch, D]

  DsmOptions options_;
  int64_t height_, width_;
  std::string data_sha256_;
  Batches batches_;
  BatchShare share_;
};

}  // namespace isinglass
