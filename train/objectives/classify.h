// Classification of images by cross-entropy: L = −E log softmax(f(x))[y]. A classifier f gives the
// energies −f(x)[y] of its classes (Grathwohl et al. 2020, "Your classifier is secretly an energy
// based model"). The data are grey levels from 0 to 1, float32 [N, D].
#pragma once

#include "train/data/batches.h"
#include "train/data/dataset.h"
#include "train/objectives/objective.h"

namespace isinglass {

struct ClassifyOptions {
  int64_t batch = 100;
  uint64_t seed = 0;
};

class ClassifyObjective : public Objective {
 public:
  // labels: the classes of data.train, int64 [N]. Throws Error if the model is not a classifier, or
  // if its states do not match the data.
  ClassifyObjective(const EnergyModel& model, const Dataset& data, const torch::Tensor& labels,
                    const ClassifyOptions& options, torch::Device device,
                    const Ranks& ranks = Ranks::single_process());

  Batch draw(EnergyModel& model, int64_t iteration) override;
  Loss loss(EnergyModel& model, const Batch& batch) override;
  PtDict settings() const override;
  torch::Tensor chains() const override;
  void draw_data(const std::filesystem::path& file) override;
  void draw_samples(EnergyModel&, const std::filesystem::path&) override {}  // it draws none

 private:
  ClassifyOptions options_;
  int64_t height_, width_;
  std::string data_sha256_;
  Batches batches_;
  torch::Tensor labels_;
  int64_t classes_;
  BatchShare share_;
};

}  // namespace isinglass
