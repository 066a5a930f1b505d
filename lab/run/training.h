// A run of training, as a spec says: model, data and objective, and the trainer that they make.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "io/torch.h"
#include "lab/run/assemble.h"
#include "lab/spec/spec.h"
#include "train/trainer.h"

namespace isinglass {

// The spec with the defaults of its objective. Throws Error for what goes with other objectives:
// those without chains read no sampler, and default to an mlp; contrastive divergence is of an rbm
// by its Gibbs sweeps, unless others are named.
TrainSpec resolved_objective(TrainSpec spec);

class Training {
 public:
  // Makes all; nothing is written yet. The observer outlives this. A given model, whose parameters
  // are trained in place, data or labels stand for the spec's. Throws Error for what does not fit
  // together or into memory. A resumed run does not read the weights that it began from.
  Training(TrainSpec spec, Context context, TrainObserver* observer = nullptr, bool resumed = false,
           Given given = {});

  // What the run is, with all defaults and files in full.
  const TrainSpec& spec() const { return spec_; }

  // start() or resume(), then run().
  Trainer& trainer() { return *trainer_; }
  EnergyModel& model() { return *model_; }

 private:
  void by_chains(TrainObserver* observer);
  void without_chains(TrainObserver* observer);
  void resolve_image();
  void resolve_projection();
  int64_t chains() const;  // that are kept
  // With fresh parameters, or with those that a new run starts from.
  std::shared_ptr<EnergyModel> model_to_train(int64_t classes = 1) const;
  TrainOptions train_options() const;
  TrainHooks hooks(TrainObserver* observer) const;
  PcdOptions pcd_options() const;

  TrainSpec spec_;
  Context context_;
  bool resumed_;
  Given given_;
  Dataset data_;
  std::shared_ptr<EnergyModel> model_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Trainer> trainer_;
};

// The newest checkpoint of a run directory (train/run_directory.h); empty if there is none.
std::filesystem::path newest_checkpoint(const std::filesystem::path& directory);

}  // namespace isinglass
