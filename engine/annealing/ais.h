// Annealed importance sampling (Neal 2001; docs/concepts/annealing.md): an estimate of log Z whose
// exponential is unbiased.
//
//   x ~ p_0;  for k = 1 … K:  log w += U_{β_{k−1}}(x) − U_{β_k}(x), then one MH step at β_k
//   log Z = log Z_0 + log mean exp(log w)
//
// A step costs one model call (tempered_model.h). The estimate is preceded by shorter runs with
// chains of their own, the points of the convergence curve. Reverse annealing is not part of this
// file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/annealing/tempered_model.h"
#include "engine/context.h"
#include "engine/run/stepper.h"
#include "engine/sampler.h"
#include "io/pt/pt_file.h"
#include "kernels/random/streams.h"

namespace isinglass {

enum class Schedule { kLinear, kSigmoid, kAdaptive };

struct AisOptions {
  int64_t chains = 500;
  int64_t temperatures = 10000;
  Schedule schedule = Schedule::kLinear;
  uint64_t seed = 0;
  std::vector<int64_t> curve = {};  // temperatures of the shorter runs, ascending
  bool cuda_graph = false;          // step_graph.h
  RandomStream stream = RandomStream::kAnnealing;
};

// The temperatures 1000, 10 000, … below n.
std::vector<int64_t> decades_below(int64_t n);

// β_0 = 0 … β_K = 1, K + 1 numbers. kSigmoid: logistic(δ(2k/K − 1)), δ = 4, scaled to [0, 1].
// kAdaptive: equal standard deviation of U_0 − U per interval, from `deviations` at equidistant β.
std::vector<double> annealing_schedule(Schedule schedule, int64_t temperatures,
                                       const std::vector<double>& deviations);

// log mean exp(log w) with its bootstrap standard error (1000 resamples) and (Σw)² / Σw². One
// weight has no standard error, and weights that are not finite have neither: NaN.
struct WeightSummary {
  double log_mean, standard_error, ess;
};
WeightSummary summarise_weights(const torch::Tensor& log_weights, uint64_t seed);

// Weights of a smaller effective sample size say nothing about log Z.
inline constexpr double kLeastWeightEss = 10;

// What goes wherever the estimate goes, after "warning: "; empty where the weights suffice.
std::string weights_warning(double weight_ess, int64_t chains);

// … and one that goes with likelihoods (Jensen's inequality: E log Ẑ ≤ log Z).
inline constexpr const char* kForwardBias =
    "Forward annealing underestimates log Z on average, and so overstates likelihoods.";

struct CurvePoint {
  int64_t temperatures;
  double log_z;
};

struct AisResult {
  double log_z = 0, log_z_se = 0, weight_ess = 0;
  std::vector<CurvePoint> curve;   // the last one is the estimate itself
  torch::Tensor x;                 // the chains at the end, uint8 [chains, D]
  torch::Tensor log_weights;       // float64 [chains]
  double acceptance = 0;           // mean over chains and steps
  int64_t energy_evaluations = 0;  // model calls per chain, all runs, their starts included
  bool finished = false;           // false: stopped; take checkpoint() and resume later
};

// The whole computation, which can be interrupted between steps and resumed from a checkpoint.
class AnnealedImportanceSampling : private Transition {
 public:
  AnnealedImportanceSampling(EnergyModel& model, const Sampler& sampler, const Factorised& start,
                             const AisOptions& options, torch::Device device,
                             const Ranks& ranks = Ranks::alone());

  // Runs to the end, or until stop() is true; on_step after every step.
  AisResult run(const std::function<void()>& on_step = {}, const std::function<bool()>& stop = {});

  // The next step alone, for who wants to time it; the present run has one left.
  void step();

  // All that run() needs to go on, after it was stopped or from on_step; restore() into a new
  // object throws Error, naming what differs, if the checkpoint belongs to other options, another
  // model, start or sampler.
  PtDict checkpoint() const;
  void restore(const PtDict& checkpoint);

  int64_t steps_done() const { return steps_done_; }
  int64_t steps_total() const;

 private:
  struct Leg {  // one annealing run: the pilot, a point of the curve, or the estimate
    int64_t temperatures;
    int64_t first_chain, chains;
    bool pilot;
  };

  // What a checkpoint must agree on.
  PtDict settings() const;
  void begin_leg();
  void step_leg();
  // Step t of a leg goes from β_t to β_{t+1}: the weights, then the model.
  int64_t before_step(int64_t t, const Sampler& sampler, ChainState& state,
                      StepParams& params) override;
  void finish_leg(AisResult& result);
  torch::Tensor leg_chain_ids() const;
  uint64_t key() const { return stream_key(options_.seed, options_.stream); }

  const EnergyModel& target_;
  TemperedModel model_;
  const Sampler& sampler_;
  const Factorised& start_;
  AisOptions options_;
  torch::Device device_;
  const Ranks& ranks_;
  std::vector<Leg> legs_;

  size_t leg_ = 0;
  bool begun_ = false;  // the present leg
  int64_t k_ = 0;       // temperatures passed in this leg
  int64_t steps_done_ = 0, evaluations_ = 0;
  std::vector<double> betas_, deviations_;
  std::vector<CurvePoint> curve_;
  torch::Tensor log_weights_;
  torch::Tensor resumed_, acceptance_sum_;  // from restore() until the leg begins
  StepParams params_;
  ChainState state_;
  std::optional<Stepper> stepper_;  // of the present leg
};

}  // namespace isinglass
