// Evaluates a model by annealed importance sampling or parallel tempering: log Z, the
// log-likelihoods of a data set's splits, and a verdict on whether they can be trusted. An
// evaluation is one round, or, until the verdict is closed, several rounds, each with twice the
// steps of the one before and with fresh chains. It saves its state to a file, from which a later
// evaluation continues.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/annealing/base_weights.h"
#include "io/torch.h"
#include "lab/evaluation/log_z_estimate.h"
#include "lab/run/assemble.h"
#include "lab/spec/spec.h"
#include "models/conditional/restriction.h"
#include "train/likelihood.h"

namespace isinglass {

struct EvaluationHooks {
  std::function<void()> on_step = {};   // It is called after every step.
  std::function<void()> on_saved = {};  // It is called after the checkpoint is written.
};

// Completes the description of the model from the run directory of its weights and from the data
// (null: none), and gives the data the size of the model's images.
void take_image_size(EvaluateSpec& spec, Dataset* data);
std::shared_ptr<EnergyModel> evaluated_model(const EvaluateSpec& spec, torch::Device device);

class LikelihoodEvaluation {
 public:
  // Makes the model, the sampler, the data and the first round. A given model or given data replace
  // those of the spec. Throws Error for what does not fit together or does not fit into memory.
  LikelihoodEvaluation(EvaluateSpec spec, Context context, Given given = {});

  // Returns the spec with all defaults filled in and files resolved.
  const EvaluateSpec& spec() const { return spec_; }

  // Returns the reason, known before the run, for which the verdict will be open; empty if there is
  // none.
  std::string warning() const;

  // Continues from the file. Throws Error if it belongs to another estimate or other data.
  void restore(const std::filesystem::path& checkpoint);

  // Runs to the end, or until the context stops it, and returns whether it is finished. Writes the
  // checkpoint every minute, at the end and when it is stopped. Computes the energies of the data
  // first: an image without a finite energy (NumericalError) ends the run before it begins. Ranks
  // share chains and images and have the same results; rank 0 writes.
  bool run(const std::filesystem::path& checkpoint, const EvaluationHooks& hooks = {});

  int64_t steps_done() const { return earlier_steps_ + estimate_->steps_done(); }
  int64_t steps_total() const { return earlier_steps_ + estimate_->steps_total(); }

  // Returns the estimate of the last round. Valid after run() has finished.
  const LogZEstimate& estimate() const { return *estimate_; }
  // Returns its values. Their standard errors contain that of the start's log Z.
  LogZBounds log_z() const;
  // Returns the verdict on log Z, which for a residual model is closed only if log Z of its base is
  // known well enough, too.
  const BracketVerdict& verdict() const { return verdict_; }
  std::string text() const;  // Returns the lines about log Z for the terminal.
  // Returns the contents of chains.pt, with whole states where states are restricted.
  PtDict chains() const;
  // Returns the energies U of the model at given states, float64 [N] on the CPU.
  torch::Tensor energies_of(const torch::Tensor& x) const;
  // Returns how rounds of `until-closed` ended; empty if the spec does not ask for them.
  std::string outcome() const;
  const std::vector<SplitLikelihood>& splits() const { return splits_; }
  const char* note() const;             // Explains the direction of the bias.
  nlohmann::ordered_json json() const;  // Returns the contents of ais.json.
  // Writes ais.json with what json() returned, chains.pt and, with rungs, rungs.pt. Only rank 0
  // calls it.
  void write(const std::filesystem::path& directory, const nlohmann::ordered_json& json) const;

 private:
  using Clock = std::chrono::steady_clock;

  void check_data();
  void restrict_states(const Given& given);
  bool reverses() const { return *spec_.reverse; }
  bool tempers() const;
  int64_t steps() const { return spec_.temperatures << round_; }  // Counts temperatures or scans.
  bool may_double(int64_t times) const;
  void begin_round();
  std::unique_ptr<LogZEstimate> annealing() const;  // Makes the estimate of this round.
  bool another_round() const;
  // Returns the residual model if its evaluation starts at its base, else null.
  const ResidualModel* on_base() const;
  // Returns the standard error of log Z of the start: 0 unless it is a base, NaN if not known.
  double start_error() const;
  std::string open_base() const;  // Returns why log Z of the base is open; empty if it is closed.
  // Returns why, apart from the estimate, the verdict will be open; empty if nothing is.
  std::string open_anyhow() const;
  void next_round();
  const Ranks& ranks() const { return *context_.ranks; }
  double seconds() const;  // Includes the time of earlier, interrupted runs.
  void save(const std::filesystem::path& checkpoint);
  PtDict data_settings() const;
  nlohmann::ordered_json identity() const;

  EvaluateSpec spec_;
  Context context_;
  std::shared_ptr<EnergyModel> whole_, model_;  // They differ if the states are restricted.
  std::optional<Restriction> restriction_;
  std::unique_ptr<Sampler> sampler_;
  std::optional<Dataset> data_;
  std::string data_hash_;  // Holds the SHA-256 of the data, or "none".
  std::string inexact_;    // Says why the energies are not a function of the state alone.
  std::optional<Factorised> start_;
  std::unique_ptr<LogZEstimate> estimate_;
  bool rounds_closed_ = false;  // The estimate without the base's part is closed.
  BracketVerdict verdict_;
  std::optional<BaseWeights> by_weights_;  // It has a value if the weights suffice.
  std::vector<SplitLikelihood> splits_;
  std::string reverse_from_;   // Names the start of this round's reverse chains; empty: the spec's.
  int64_t round_ = 0;          // Counts from 0.
  int64_t first_chain_ = 0;    // Holds the global number of this round's first chain.
  int64_t earlier_steps_ = 0;  // Counts the steps of earlier rounds.
  std::vector<CurvePoint> curve_;  // Holds the points of finished rounds.
  double round_started_ = 0;       // Holds the value of seconds() at the start of the round.
  Clock::time_point started_ = Clock::now(), saved_ = started_;
  double earlier_ = 0;
  // Holds the revisions of the program that worked on this evaluation, the present one last.
  std::vector<std::string> revisions_;
};

}  // namespace isinglass
