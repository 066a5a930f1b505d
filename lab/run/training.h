// Makes one run of training from a spec: model, data and objective, and the trainer that combines
// them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "io/torch.h"
#include "lab/run/assemble.h"
#include "lab/spec/spec.h"
#include "models/combined/residual.h"
#include "train/trainer.h"

namespace isinglass {

// Returns the spec with the defaults of its objective. Objectives without chains read no sampler
// and default to an mlp; contrastive divergence defaults to an rbm with its block Gibbs sweeps.
// Chains of continuous states move an mlp by mala, unless the spec names others; `continuous` says
// that a given model has such states. Throws Error for options that belong to other objectives.
TrainSpec resolved_objective(TrainSpec spec, bool continuous = false);

// Returns the spec with estimates of the validation likelihood only where it gives them, as grids
// train.
TrainSpec without_scores(TrainSpec spec);

// Returns whether the data are points, and images grey levels: score matching, classification, and
// chains of continuous states, as bounds or a sampler of such states say.
bool trains_on_points(const TrainSpec& spec);

class Training {
 public:
  // Makes all parts; nothing is written yet. The observer must outlive this object. A given model,
  // whose parameters are trained in place, given data or given labels replace those of the spec.
  // Throws Error for what does not fit together or does not fit into memory. A resumed run does not
  // read the weights that it originally started from.
  Training(TrainSpec spec, Context context, TrainObserver* observer = nullptr, bool resumed = false,
           Given given = {});

  // Returns the spec with all defaults filled in and files resolved.
  const TrainSpec& spec() const { return spec_; }

  // Returns sentences on what the data were taken for: missing values, grey levels.
  std::vector<std::string> notes() const;
  // Writes them to the log of the run that the trainer has started in this directory.
  void log_notes(const std::filesystem::path& directory) const;
  // Returns whether binary states are drawn from the values of the data, which are taken for grey
  // levels.
  bool draws_from_grey_levels() const { return data_.dynamic() && model_->space().discrete(); }

  // Returns the trainer. Call its start() or resume(), then run().
  Trainer& trainer() { return *trainer_; }
  EnergyModel& model() { return *model_; }

 private:
  void by_chains(TrainObserver* observer);
  void without_chains(TrainObserver* observer);
  void resolve_base_log_z();
  void resolve_image();
  void resolve_projection();
  // Fills in how often the validation likelihood is estimated, and how. `possible` says whether it
  // can be.
  void resolve_scores(bool possible);
  int64_t chains() const;  // Returns the number of persistent chains.
  // Returns a model with fresh parameters, or with those that a new run starts from.
  std::shared_ptr<EnergyModel> model_to_train(int64_t classes = 1) const;
  NewResidualOptions residual_options() const;
  TrainOptions train_options() const;
  TrainHooks hooks(TrainObserver* observer) const;
  PcdOptions pcd_options() const;

  TrainSpec spec_;
  Context context_;
  bool resumed_;
  Given given_;
  // The evaluation of the base from which log Z was taken, and the parameters that it evaluated.
  struct EvaluatedBase {
    std::filesystem::path directory;
    std::string sha256;
  };
  std::optional<EvaluatedBase> evaluated_base_;
  Dataset data_;
  std::shared_ptr<EnergyModel> model_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Trainer> trainer_;
};

// Returns the newest checkpoint of a run directory (train/run_directory.h), or an empty path if
// there is none.
std::filesystem::path newest_checkpoint(const std::filesystem::path& directory);

// Sets the warm-up of a run that is resumed, unless it is given, to that of its newest
// readable checkpoint: it stays as it is if the run gets more iterations.
void keep_warmup(TrainSpec& spec, const std::filesystem::path& directory);

}  // namespace isinglass
