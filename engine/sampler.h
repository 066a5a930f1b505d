// The interface of a sampler: init(model, x) returns a state, and step(model, state, params)
// advances it and returns what the step cost. A sampler object holds options only; everything that
// changes is in the state and the parameters. A plain sampler implements step(), needs() and
// prepare(). HasWarmup and CachesWeights, below, are interfaces of samplers that do more.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/chain_state.h"
#include "engine/context.h"
#include "engine/options.h"
#include "io/error.h"
#include "io/pt/pt_file.h"

namespace isinglass {

class CachesWeights;
class CapturedWork;  // engine/run/captured_work.h
class HasWarmup;

// Thrown if the energy or its gradient is not finite at an initial state.
class NonFinite : public Error {
 public:
  using Error::Error;
};

// The most steps that one launch of a kernel takes: some milliseconds for many chains, during which
// the host can neither observe nor stop the chains.
inline constexpr int64_t kStepsALaunch = 64;

// Names what a sampler needs to know about every state besides its energy.
enum class Needs { kEnergy, kGradient, kDifferences };

// Describes one column of StepParams::scale: the name of its option, its initial value and the
// range in which it adapts.
struct Scale {
  std::string name;
  double initial;
  double least = 0, most = 0;
};

// Reports how far adaptation came in burn-in.
struct Adaptation {
  int64_t rounds = 0;        // rounds completed by a search, or steps made by another rule
  bool converged = false;    // true if further steps would hardly change the adapted values
  std::string warning = {};  // a warning that says what is wrong if it has not settled
};

// Summarises the burn-in of a run.
struct BurnIn {
  int64_t steps = 0;
  double acceptance = 0;  // mean over chains and the last quarter of the steps
};

class Sampler {
 public:
  virtual ~Sampler();

  // Evaluates the model once at x (on the model's device) and allocates all buffers. chain_ids
  // int64 [B] are the chains' numbers among those of all ranks. Throws Error if x is not a batch of
  // states of the model, and NonFinite if U or its gradient is not finite at x.
  virtual ChainState init(EnergyModel& model, const torch::Tensor& x,
                          const torch::Tensor& chain_ids) const;
  // Makes one Metropolis–Hastings transition of all chains, in place, and advances params.
  virtual StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const = 0;
  virtual Needs needs() const = 0;
  // Returns true if a step leaves π invariant.
  virtual bool exact() const { return true; }

  virtual std::vector<Scale> scales() const { return {}; }  // initial values of StepParams::scale
  StepParams params(uint64_t seed, torch::Device device, int64_t step = 0) const;

  // Return the interfaces beside the contract; null if the sampler does not implement them.
  virtual const HasWarmup* warmup() const { return adaptation_.get(); }
  virtual const CachesWeights* caches_weights() const { return nullptr; }

  // Re-evaluates the current states after the energy function itself has changed, for example with
  // the temperature (engine/annealing/tempered_model.h). Overwrites the evaluation, and what the
  // family caches of it, in the existing tensors.
  virtual void reevaluate(EnergyModel& model, ChainState& state) const;
  // Restarts the chains at x like init(), but in the existing tensors. graph: if given, runs the
  // re-evaluation as a CUDA graph; null runs it directly. Throws what init() throws, and Error if
  // the number of chains differs.
  void reset(EnergyModel& model, ChainState& state, const torch::Tensor& x,
             const torch::Tensor& chain_ids, CapturedWork* graph = nullptr) const;

  // steps() makes n steps, which gives the same chains as n calls of step(). steps_at_once()
  // returns how many steps one call should take at most: more than 1 where a kernel takes many
  // steps per launch.
  virtual StepInfo steps(EnergyModel& model, ChainState& state, StepParams& params,
                         int64_t n) const;
  virtual int64_t steps_at_once(const ChainState& state) const { return 1; }

  // needs_host_sync() returns true if the host waits within a step for a number that the device
  // computes. captures() returns true if a step on this model can be captured in a CUDA graph
  // (engine/run/step_graph.h), which rules out such waiting.
  virtual bool needs_host_sync() const { return false; }
  virtual bool captures(const EnergyModel& model) const {
    return !needs_host_sync() && model.capturable();
  }

  // Returns true if a step is a proposal with model calls and a Metropolis test. Otherwise a step
  // draws from conditionals, which the model may supply without a call.
  virtual bool is_metropolis() const { return true; }
  // Returns true if a chain's move depends on the states of other chains.
  virtual bool is_interacting() const { return false; }
  // Returns the number of moves by the model's base before each step, which
  // Statistics::base_moves counts (engine/samplers/base_moves.h).
  virtual int64_t base_moves() const { return 0; }
  // Returns a sampler whose step t of 0 … last is the time reversal, with respect to π, of this
  // sampler's step last − t. Estimates that combine forward and reverse annealing need it. Null
  // means that every step is its own reversal. That holds for a Metropolis step and for a Gibbs
  // draw at a random site. It also holds, between fresh momenta at both ends, for a damped
  // Hamiltonian step that negates its momentum when it is rejected.
  virtual std::unique_ptr<Sampler> reversed(int64_t last) const { return nullptr; }

  // The sampler's name, and every option that it reads with its resolved value: a saved computation
  // depends on both. make_sampler() sets them by set_identity().
  const std::string& name() const { return name_; }
  const PtDict& settings() const { return settings_; }
  using Remake = std::function<std::unique_ptr<Sampler>(const EnergyModel&)>;
  void set_identity(std::string name, PtDict settings, Remake remake = nullptr);
  // Makes this sampler anew for a model that wraps its own, such as that model at a temperature.
  // Returns null if this object suits both, as it does unless a lattice has a sampler of its own.
  std::unique_ptr<Sampler> for_model(const EnergyModel& model) const {
    return remake_ ? remake_(model) : nullptr;
  }

  // Turns on the adaptation of scale 0 in burn-in: Robbins–Monro steps towards a mean acceptance
  // (engine/adaptation/acceptance.h). target_acceptance() is 0 without it.
  void adapt_to(double target_acceptance);
  double target_acceptance() const { return target_acceptance_; }
  bool adapts() const { return target_acceptance_ > 0; }

 protected:
  // Adds the family's buffers to a state whose x, current and workspace.{y, proposed} exist.
  virtual void prepare(const EnergyModel& model, ChainState& state) const {}
  // Refreshes what the family caches besides the evaluation; reevaluate() calls it.
  virtual void refresh_cache(const EnergyModel& model, ChainState& state) const {}

  // Throws Error, which names the model, if the sampler was made for one that differs.
  void require_made_for(bool suits, const EnergyModel& model) const;

  // Throws NonFinite if the energy or the gradient of an initial state is not finite.
  void require_finite_start(const ChainState& state) const;

  // Evaluates the model at x into out, with what needs() asks for. Returns the model calls per
  // chain.
  int64_t evaluate(EnergyModel& model, const torch::Tensor& x, Evaluation& out) const;

  // Evaluates the model at workspace.y into workspace.proposed. Returns the model calls per chain.
  int64_t evaluate_proposal(EnergyModel& model, ChainState& state) const;

  // Applies the Metropolis test to workspace.y, and advances params. Accepted chains take over
  // state, energy, gradient, differences and cache of the proposal. `unadjusted` accepts without
  // the test. Each `group` of consecutive chains is accepted or rejected together.
  static void accept(ChainState& state, StepParams& params, bool unadjusted = false,
                     int64_t group = 1);

 private:
  double target_acceptance_ = 0;
  std::unique_ptr<const HasWarmup> adaptation_;  // of scale 0; null without adapt_to()
  std::string name_;
  PtDict settings_;
  Remake remake_;
};

// Implemented by samplers that learn in burn-in: a scale, a curvature, a balancing function.
class HasWarmup {
 public:
  virtual ~HasWarmup() = default;
  // Makes step t (from 0) of the `total` steps of burn-in, from which the sampler learns what it
  // adapts. After burn-in only the chains change. All ranks learn the same, from the chains of all
  // ranks.
  virtual StepInfo burn_in_step(EnergyModel& model, ChainState& state, StepParams& params,
                                int64_t t, int64_t total,
                                const Ranks& ranks = Ranks::single_process()) const = 0;
  // Returns true if the state and the parameters of a step hold all that burn-in has learned so
  // far, so that a checkpoint can be made in the middle of burn-in.
  virtual bool saves_warmup() const { return false; }
  // Reports on the adaptation after burn-in.
  virtual Adaptation adaptation(const ChainState& state, const StepParams& params,
                                const BurnIn& burn_in) const = 0;
  // learned() returns the tensors learned in burn-in (a curvature, a balancing function), which can
  // be saved; restore() puts them into the state of a later run. restore() throws Error if they do
  // not fit.
  virtual NamedTensors learned(const ChainState& state) const { return {}; }
  virtual void restore(ChainState& state, const NamedTensors& learned) const;
};

// Implemented by samplers whose steps compute the weights of a chain at its β from the gradient or
// differences of U (HasLocalSteps), and cache them.
class CachesWeights {
 public:
  virtual ~CachesWeights() = default;
  // Invalidates the weights of these chains (int64), whose states and evaluations have been
  // replaced from outside.
  virtual void states_replaced(ChainState& state, const torch::Tensor& chains) const = 0;
};

}  // namespace isinglass
