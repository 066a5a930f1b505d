// The evaluation of a model by annealed importance sampling or parallel tempering: log Z, the
// log-likelihoods of a data set's splits, and a verdict on them. One round, or, until the verdict is
// closed, rounds of twice the steps, each with fresh chains. It saves itself to a file, from which a
// later one goes on.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/torch.h"
#include "lab/evaluation/log_z_estimate.h"
#include "lab/run/assemble.h"
#include "lab/spec/spec.h"
#include "train/likelihood.h"

namespace isinglass {

struct EvaluationHooks {
  std::function<void()> on_step = {};   // after every step
  std::function<void()> on_saved = {};  // the checkpoint has been written
};

class LikelihoodEvaluation {
 public:
  // Makes model, sampler, data and the first round; a given model or data stand for the spec's. Throws
  // Error for what does not fit together or into memory.
  LikelihoodEvaluation(EvaluateSpec spec, Context context, Given given = {});

  // What the run is, with all defaults and files in full.
  const EvaluateSpec& spec() const { return spec_; }

  // What is known before the run to leave its verdict open; empty for nothing.
  std::string complaint() const;

  // Goes on from the file. Throws Error if it is of another estimate or other data.
  void restore(const std::filesystem::path& checkpoint);

  // To the end, or until the context stops it; writes the checkpoint every minute, at the end and when
  // it is stopped. The energies of the data come first: an image that has none (NumericalError) ends
  // the run before it begins. Returns whether it is finished.
  // Ranks share chains and images, and have the same results; rank 0 writes.
  bool run(const std::filesystem::path& checkpoint, const EvaluationHooks& hooks = {});

  int64_t steps_done() const { return earlier_steps_ + estimate_->steps_done(); }
  int64_t steps_total() const { return earlier_steps_ + estimate_->steps_total(); }

  // After run() has finished; of the last round.
  const LogZEstimate& estimate() const { return *estimate_; }
  const BracketVerdict& verdict() const { return verdict_; }
  // U of the model at given states, float64 [N] on the CPU.
  torch::Tensor energies_of(const torch::Tensor& x) const;
  // What `until-closed` came to; empty without it.
  std::string outcome() const;
  const std::vector<SplitLikelihood>& splits() const { return splits_; }
  const char* note() const;             // which way the bias goes
  nlohmann::ordered_json json() const;  // ais.json

 private:
  using Clock = std::chrono::steady_clock;

  void check_data();
  bool reverses() const { return spec_.reverse; }
  bool tempers() const;
  int64_t steps() const { return spec_.temperatures << round_; }  // temperatures or scans
  bool may_double(int64_t times) const;
  void begin_round();
  std::unique_ptr<LogZEstimate> annealing() const;  // of this round
  bool another_round() const;
  void next_round();
  const Ranks& ranks() const { return *context_.ranks; }
  double seconds() const;  // earlier sittings included
  void save(const std::filesystem::path& checkpoint);
  PtDict data_settings() const;
  nlohmann::ordered_json identity() const;

  EvaluateSpec spec_;
  Context context_;
  std::shared_ptr<EnergyModel> model_;
  std::unique_ptr<Sampler> sampler_;
  std::optional<Dataset> data_;
  std::string data_hash_;  // SHA-256, "none" without data
  std::optional<Factorised> start_;
  std::unique_ptr<LogZEstimate> estimate_;
  BracketVerdict verdict_;
  std::vector<SplitLikelihood> splits_;
  std::string reverse_from_;       // of this round; empty: as the spec says
  int64_t round_ = 0;              // from 0
  int64_t first_chain_ = 0;        // of this round
  int64_t earlier_steps_ = 0;      // of earlier rounds
  std::vector<CurvePoint> curve_;  // of the rounds that are over
  double round_started_ = 0;       // seconds()
  Clock::time_point started_ = Clock::now(), saved_ = started_;
  double earlier_ = 0;
  std::vector<std::string> revisions_;  // of the program that made it, the present one last
};

}  // namespace isinglass
