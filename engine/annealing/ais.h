// Annealed importance sampling (Neal 2001; docs/concepts/annealing.md), both ways: an estimate of
// log Z whose exponential is unbiased, and one from the other end (Burda, Grosse & Salakhutdinov
// 2015).
//
//   forward  x ~ p_0;  for k = 1 … K:  log w += U_{β_{k−1}}(x) − U_{β_k}(x), then a step at β_k
//            log Z ≈ log Z_0 + log mean exp(log w), on average too low
//   reverse  x ~ π;    for k = K … 1:  log w += U_{β_k}(x) − U_{β_{k−1}}(x), then a step at β_{k−1}
//            log Z ≈ log Z_0 − log mean exp(log w), on average too high if x are exact draws
//
// A step costs one model call (path.h). The estimate is preceded by shorter runs with chains of
// their own, the points of the convergence curve. The reverse chains begin at states that are given,
// or go on from the forward chains' last states at β = 1 until they are in equilibrium
// (equilibrium.h); whichever it was, R̂ says what the bound is worth (verdict.h).
//
// The estimate from both ends (Crooks) takes a way back whose steps are the reversals in time of
// those of the way there: step K − 2 − k of the one is at the β of step k of the other. Sweeps in a
// fixed order go backwards there (Sampler::reversed, AnnealingPath::turn_back). The bounds do not
// depend on it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/annealing/equilibrium.h"
#include "engine/annealing/path.h"
#include "engine/annealing/schedule.h"
#include "engine/annealing/verdict.h"
#include "engine/annealing/weights.h"
#include "engine/context.h"
#include "engine/run/stepper.h"
#include "engine/sampler.h"
#include "io/pt/pt_file.h"
#include "kernels/random/streams.h"

namespace isinglass {

// Where reverse chains begin.
struct ReverseStart {
  // Exact draws or saved states, one a chain, on the CPU or the device; undefined: long chains, or
  // if those may not make a step, states that reverse_from() gives before run().
  torch::Tensor states = {};
  double rhat = 1;  // of given ones: that of the chains they come from, NaN where it is not known
  // Of the ladder that they come from, if one; without them R̂ may look well all the same.
  double round_trips = std::numeric_limits<double>::infinity();
  int64_t longest = 0;  // steps of long chains at most
};

struct AisOptions {
  int64_t chains = 500;
  int64_t temperatures = 10000;
  Schedule schedule = Schedule::kLinear;
  PathKind path = PathKind::kLinear;
  uint64_t seed = 0;
  std::vector<int64_t> curve = {};  // temperatures of the shorter runs, ascending
  bool cuda_graph = false;          // step_graph.h, where the annealed model allows it
  RandomStream stream = RandomStream::kAnnealing;
  std::optional<ReverseStart> reverse = {};  // none: forward alone
  int64_t first_chain = 0;                   // global number of the estimate's first chain
};

struct CurvePoint {
  int64_t temperatures;
  double log_z;
};

// Of one direction.
struct AnnealedChains {
  torch::Tensor x;            // the chains at the end, uint8 [chains, D]
  torch::Tensor log_weights;  // float64 [chains]
  double acceptance = 0;      // mean over chains and steps
};

struct ReverseResult : AnnealedChains {
  double log_z_upper = 0, log_z_upper_se = 0, weight_ess = 0;
  double log_z_bidirectional = 0, log_z_bidirectional_se = 0;  // weights.h
  double rhat = 0, round_trips = 0;                            // of the chains it began from
  int64_t equilibrium_steps = 0;                               // that those made, long chains
};

struct AisResult : AnnealedChains {
  double log_z = 0, log_z_se = 0, weight_ess = 0;
  std::vector<CurvePoint> curve;   // the last one is the estimate itself
  int64_t energy_evaluations = 0;  // model calls per chain, all runs, their starts included
  bool finished = false;           // false: stopped; take checkpoint() and resume later
  std::optional<ReverseResult> reverse = {};

  Evidence evidence() const;
  LogZBounds bounds() const;
};

// The whole computation, which can be interrupted between steps and resumed from a checkpoint. Ranks
// share the chains of every run.
class AnnealedImportanceSampling : private Transition {
 public:
  AnnealedImportanceSampling(EnergyModel& model, const Sampler& sampler, const Factorised& start,
                             const AisOptions& options, torch::Device device,
                             const Ranks& ranks = Ranks::alone());

  // The states, one a chain, where options.reverse left them open, and the R̂ of their chains.
  void reverse_from(const torch::Tensor& states, double rhat, double round_trips);

  // Runs to the end, or until stop() is true, which is the same on all ranks; on_step after every
  // step. The result is that of all ranks' chains.
  AisResult run(const std::function<void()>& on_step = {}, const std::function<bool()>& stop = {});

  // The next step alone, for who wants to time it; the present run has one left.
  void step();

  // By all ranks together: all that run() needs to go on, on as many ranks or another number of them,
  // after it was stopped or from on_step; restore() into a new object throws Error, naming what
  // differs, if the checkpoint belongs to other options, another model, start or sampler.
  PtDict checkpoint() const;
  void restore(const PtDict& checkpoint);

  // What is sure to come, and of long chains the most; fewer once those have come to equilibrium.
  int64_t steps_done() const { return steps_done_; }
  int64_t steps_total() const;

  // Global numbers of chains from first_chain on that the whole computation has.
  int64_t chain_numbers() const { return legs_end_ - options_.first_chain; }

 private:
  enum class Part { kPilot, kCurve, kForward, kEquilibrium, kReverse };
  struct Leg {  // one run of chains
    Part part;
    int64_t temperatures;
    int64_t first_chain, chains;

    bool weighs() const { return part != Part::kEquilibrium; }
  };

  // What a checkpoint must agree on.
  PtDict settings() const;
  void begin_leg();
  void step_leg();
  bool leg_is_over() const;
  // Step t of a leg goes from β_t to β_{t+1}: the weights, then the model.
  int64_t before_step(int64_t t, const Sampler& sampler, ChainState& state,
                      StepParams& params) override;
  void finish_leg();
  void finish_reverse(const WeightSummary& summary);
  AnnealedChains annealed_chains() const;
  torch::Tensor first_states(const torch::Tensor& ids) const;
  torch::Tensor leg_chain_ids() const;
  Share own_chains() const { return ranks_.share(leg().chains); }
  int64_t calls_of_start() const;  // a chain
  const Leg& leg() const { return legs_[leg_]; }
  const Sampler& leg_sampler() const { return reversed_ ? *reversed_ : sampler_; }
  uint64_t key() const { return stream_key(options_.seed, options_.stream); }

  const EnergyModel& target_;
  std::unique_ptr<AnnealingPath> path_;
  const Sampler& sampler_;
  const Factorised& start_;
  AisOptions options_;
  torch::Device device_;
  const Ranks& ranks_;
  std::vector<Leg> legs_;
  int64_t legs_end_ = 0;

  std::string states_sha256_;  // of the reverse states that the options hold; empty: none

  size_t leg_ = 0;
  std::unique_ptr<Sampler>
      reversed_;        // of a leg in reverse, where steps are not their own reversal
  bool begun_ = false;  // the present leg
  int64_t k_ = 0;       // steps made in this leg
  int64_t steps_done_ = 0;
  bool settled_ = false;  // the long chains
  Pilot pilot_;
  AisResult result_;
  EquilibriumWatch watch_;
  torch::Tensor log_weights_;
  torch::Tensor resumed_, acceptance_sum_;  // from restore() until the leg begins
  std::vector<double> betas_;
  StepParams params_;
  ChainState state_;
  std::optional<Stepper> stepper_;  // of the present leg
};

}  // namespace isinglass
