// Annealed importance sampling in both directions (docs/concepts/annealing.md). The forward
// direction (Neal 2001) gives an estimate of log Z whose exponential is unbiased; the reverse
// direction gives one from the other end (Burda, Grosse & Salakhutdinov 2015).
//
//   forward  x ~ p_0;  for k = 1 … K:  log w += U_{β_{k−1}}(x) − U_{β_k}(x), then a step at β_k
//            log Z ≈ log Z_0 + log mean exp(log w), on average too low
//   reverse  x ~ π;    for k = K … 1:  log w += U_{β_k}(x) − U_{β_{k−1}}(x), then a step at β_{k−1}
//            log Z ≈ log Z_0 − log mean exp(log w), on average too high if x are exact draws
//
// A step costs one model call; the change of temperature before it costs none (path.h). Shorter
// runs with chains of their own come first; each gives a point of a convergence curve. The reverse
// chains start from given states, or continue from the last states of the forward chains at β = 1
// until they are in equilibrium (convergence_monitor.h). In either case, R̂ of the chains that they
// start from tells how far the upper bound can be trusted (verdict.h).
//
// The bidirectional estimate (Crooks) needs reverse steps that are the time reversals of the
// forward steps: reverse step K − 2 − k is at the β of forward step k. Sweeps in a fixed order
// therefore run backwards in reverse annealing (Sampler::reversed, AnnealingPath::turn_back). The
// bounds do not depend on this.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/annealing/convergence_monitor.h"
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

// Where the reverse chains start.
struct ReverseStart {
  // Exact draws or saved states, one per chain, on the CPU or the device. If they are undefined,
  // the reverse chains start from long chains if `longest` is above 0, and otherwise from states
  // that reverse_from() supplies before run().
  torch::Tensor states = {};
  // R̂ of the chains that given states come from: 1 for exact draws, NaN if it is not known.
  double rhat = 1;
  // The round trips of the ladder that the states come from; infinite if they come from none. With
  // few round trips R̂ may look good although the states are not in equilibrium.
  double round_trips = std::numeric_limits<double>::infinity();
  int64_t longest = 0;  // the most steps of long chains
};

struct AisOptions {
  int64_t chains = 500;
  int64_t temperatures = 10000;
  Schedule schedule = Schedule::kLinear;
  PathKind path = PathKind::kLinear;
  uint64_t seed = 0;
  std::vector<int64_t> curve = {};  // temperatures of the shorter runs, ascending
  // Captures steps in a CUDA graph (step_graph.h) if the annealed model allows it.
  bool cuda_graph = false;
  RandomStream stream = RandomStream::kAnnealing;
  std::optional<ReverseStart> reverse = {};  // nullopt: the forward direction only
  int64_t first_chain = 0;                   // the number of the estimate's first chain
};

struct CurvePoint {
  int64_t temperatures;
  double log_z;
};

// The chains of one direction.
struct AnnealedChains {
  torch::Tensor x;            // uint8 [chains, D]: the final states
  torch::Tensor log_weights;  // float64 [chains]
  double acceptance = 0;      // mean over chains and steps
};

struct ReverseResult : AnnealedChains {
  double log_z_upper = 0, log_z_upper_se = 0, weight_ess = 0;
  double log_z_bidirectional = 0, log_z_bidirectional_se = 0;  // defined in weights.h
  // R̂ and round trips of the chains that the reverse direction started from.
  double rhat = 0, round_trips = 0;
  int64_t equilibrium_steps = 0;  // steps of those chains, if they were long chains
};

struct AisResult : AnnealedChains {
  double log_z = 0, log_z_se = 0, weight_ess = 0;
  std::vector<CurvePoint> curve;  // its last point is the estimate itself
  // Model calls per chain over all runs, including the evaluations of initial states.
  int64_t energy_evaluations = 0;
  bool finished = false;  // false if stopped; then take checkpoint() and resume later
  std::optional<ReverseResult> reverse = {};

  LogZDiagnostics diagnostics() const;
  LogZBounds bounds() const;
};

// The whole computation. It can be interrupted between steps and resumed from a checkpoint. Ranks
// share the chains of every run.
class AnnealedImportanceSampling : private StepHook {
 public:
  AnnealedImportanceSampling(EnergyModel& model, const Sampler& sampler, const Factorised& start,
                             const AisOptions& options, torch::Device device,
                             const Ranks& ranks = Ranks::single_process());

  // Supplies the reverse start that options.reverse left open: the states, one per chain, the R̂ of
  // the chains that they come from, and the round trips of their ladder.
  void reverse_from(const torch::Tensor& states, double rhat, double round_trips);

  // Runs to the end, or until stop() returns true, which must happen on all ranks at the same step.
  // Calls on_step after every step. The result covers the chains of all ranks.
  AisResult run(const std::function<void()>& on_step = {}, const std::function<bool()>& stop = {});

  // Makes the next step alone, so that it can be timed. The current run must have a step left.
  void step();

  // All ranks call these together. checkpoint() returns all that run() needs to continue, on the
  // same or another number of ranks; it may be called after a stop or from on_step. restore(), on a
  // new object, throws Error that names the difference if the checkpoint belongs to other options,
  // or to another model, start or sampler.
  PtDict checkpoint() const;
  void restore(const PtDict& checkpoint);

  // The number of steps made, and the number of steps in total. The total counts long chains with
  // the largest number of steps that they may make or, once they have reached equilibrium, with the
  // steps that they made.
  int64_t steps_done() const { return steps_done_; }
  int64_t steps_total() const;

  // Returns how many chain numbers, from first_chain on, the whole computation uses.
  int64_t chain_numbers() const { return runs_end_ - options_.first_chain; }

 private:
  enum class Part { kPilot, kCurve, kForward, kEquilibrium, kReverse };
  struct Run {  // one run of a batch of chains
    Part part;
    int64_t temperatures;
    int64_t first_chain, chains;

    // Returns true if the chains of this run have weights.
    bool has_weights() const { return part != Part::kEquilibrium; }
  };

  // Returns the settings in which a checkpoint and this object must agree.
  PtDict settings() const;
  void begin_run();
  void step_run();
  bool run_is_over() const;
  // Moves from β_t to β_{t+1} before step t of a run: updates first the weights, then the model.
  int64_t before_step(int64_t t, const Sampler& sampler, ChainState& state,
                      StepParams& params) override;
  void finish_run();
  void finish_reverse(const WeightSummary& summary);
  AnnealedChains annealed_chains() const;
  torch::Tensor first_states(const torch::Tensor& ids) const;
  torch::Tensor run_chain_ids() const;
  Shard own_chains() const { return ranks_.shard(current_run().chains); }
  int64_t calls_of_start() const;  // model calls per chain
  const Run& current_run() const { return runs_[run_index_]; }
  const Sampler& run_sampler() const { return reversed_ ? *reversed_ : sampler_; }
  uint64_t key() const { return stream_key(options_.seed, options_.stream); }

  EnergyModel& target_;
  std::unique_ptr<AnnealingPath> path_;
  std::unique_ptr<Sampler> remade_;  // the sampler for the path; null if the given one suits it
  const Sampler& sampler_;
  const Factorised& start_;
  AisOptions options_;
  torch::Device device_;
  const Ranks& ranks_;
  std::vector<Run> runs_;
  int64_t runs_end_ = 0;

  std::string states_sha256_;  // hash of the reverse states in the options; empty if none

  size_t run_index_ = 0;
  // The reversed sampler of a reverse run; null if steps are their own reversals.
  std::unique_ptr<Sampler> reversed_;
  bool begun_ = false;  // true once the current run has its initial states
  int64_t k_ = 0;       // steps made in the current run
  int64_t steps_done_ = 0;
  bool converged_ = false;  // true once the long chains are in equilibrium
  Pilot pilot_;
  AisResult result_;
  ConvergenceMonitor watch_;
  double rounding_ = std::numeric_limits<double>::quiet_NaN();  // of the target's energies
  torch::Tensor log_weights_;
  // Restored chains and sums, from restore() until their run begins.
  torch::Tensor resumed_, acceptance_sum_;
  std::vector<double> betas_;
  StepParams params_;
  ChainState state_;
  std::optional<Stepper> stepper_;  // makes the steps of the current run
};

}  // namespace isinglass
