// The contract of a sampler: init(model, x) → state, step(model, state, params) → info. A sampler
// object holds options only; everything that changes is in the state and the parameters.
#pragma once

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

class CapturedWork;  // engine/run/captured_work.h

// The energy or its gradient is not finite where chains begin.
class NonFinite : public Error {
 public:
  using Error::Error;
};

// Of a kernel that takes many steps: some milliseconds of many chains, before anybody can look or
// stop.
inline constexpr int64_t kStepsALaunch = 64;

// What a sampler wants to know about every state beside its energy.
enum class Needs { kEnergy, kGradient, kDifferences };

// A number of StepParams::scale: its name among the options, and the range in which it adapts.
struct Scale {
  std::string name;
  double initial;
  double least = 0, most = 0;
};

// How far what a sampler adapts came in burn-in.
struct Adaptation {
  int64_t rounds = 0;          // of a search that are over, or steps of another rule
  bool settled = false;        // whether more steps would hardly change it
  std::string complaint = {};  // what is amiss if it has not settled
};

// What a run's burn-in was.
struct BurnIn {
  int64_t steps = 0;
  double acceptance = 0;  // mean over chains and the last quarter of the steps
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  // Evaluates the model once at x (on the model's device) and makes all buffers.
  // chain_ids int64 [B] (global chain numbers). Throws Error if x is not a state of the model, or U
  // or its gradient is not finite at x.
  ChainState init(EnergyModel& model, const torch::Tensor& x, const torch::Tensor& chain_ids) const;

  // One Metropolis–Hastings transition of all chains, in place; advances params.
  virtual StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const = 0;

  // n steps, the same chains as n calls of step(); and how many at most are worth to be taken at
  // once: more than 1 where a kernel takes many steps a launch.
  virtual StepInfo steps(EnergyModel& model, ChainState& state, StepParams& params,
                         int64_t n) const;
  virtual int64_t steps_at_once(const ChainState& state) const { return 1; }

  // Step t (from 0) of `total` in burn-in: a step from which the sampler learns what it adapts.
  // Afterwards nothing changes but the chains. The default adapts scale 0 where adapts(). What is
  // learned is the same on all ranks, from the chains of all.
  virtual StepInfo burn_in_step(EnergyModel& model, ChainState& state, StepParams& params,
                                int64_t t, int64_t total,
                                const Ranks& ranks = Ranks::alone()) const;
  // Whether a step in burn-in differs from others.
  virtual bool learns() const { return adapts(); }
  // After burn-in; none if the sampler learns nothing.
  virtual std::optional<Adaptation> adaptation(const ChainState& state, const StepParams& params,
                                               const BurnIn& burn_in) const;

  // Whether a step waits for a number that the device has found: then it cannot be captured
  // (engine/run/step_graph.h).
  virtual bool asks_device() const { return false; }
  // Whether a step on the model can be captured.
  virtual bool captures(const EnergyModel& model) const {
    return !asks_device() && model.capturable();
  }

  // Evaluates the chains' states again where the energies themselves have changed
  // (engine/annealing/tempered_model.h): the evaluation and what the family keeps of it, in the
  // tensors that are there.
  void renew(EnergyModel& model, ChainState& state) const;

  // As init(), in the state's own tensors. Throws Error for another number of chains, too. renewal: does
  // what is the same every time; null: nothing is captured.
  void restart(EnergyModel& model, ChainState& state, const torch::Tensor& x,
               const torch::Tensor& chain_ids, CapturedWork* renewal = nullptr) const;

  // The states of these chains (int64) have been replaced from outside, with their evaluations.
  virtual void states_replaced(ChainState& state, const torch::Tensor& chains) const {}
  // Whether steps read the evaluation's gradient or differences, and not U's alone (local_steps()).
  virtual bool reads_table(const ChainState& state) const { return true; }

  virtual Needs needs() const = 0;
  virtual std::vector<Scale> scales() const { return {}; }  // what StepParams::scale starts from
  virtual bool exact() const { return true; }               // leaves π invariant
  virtual bool couples() const { return false; }            // moves a chain by where others are
  // Estimates from both ends need the steps of the way back to undo those of the way there: a
  // sampler whose step t of 0 … last is the reversal in time, with respect to π, of this one's step
  // last − t. Null: every step is its own reversal, as a Metropolis step is, or a draw at random
  // sites; so is, between fresh momenta at both ends, a damped Hamiltonian step that turns its
  // momentum round when it is refused.
  virtual std::unique_ptr<Sampler> reversed(int64_t last) const { return nullptr; }
  // A step is a proposal, model calls and a Metropolis test; else a draw from conditionals, which
  // the model may supply without a call.
  virtual bool proposes() const { return true; }

  // Tensors learned in burn-in (a curvature, a balancing function), to be kept and given back to
  // a later run's state. Throws Error if they do not fit.
  virtual NamedTensors learned(const ChainState& state) const { return {}; }
  virtual void restore(ChainState& state, const NamedTensors& learned) const;

  StepParams params(uint64_t seed, torch::Device device, int64_t step = 0) const;

  // Its name and every option that it reads, defaults resolved: what a saved computation by it
  // depends on. Made by make_sampler().
  const std::string& name() const { return name_; }
  const PtDict& settings() const { return settings_; }
  void describe(std::string name, PtDict settings);

  // `adapt`: Robbins–Monro steps towards a mean acceptance (engine/adaptation/acceptance.h).
  void adapt_to(double target_acceptance) { target_acceptance_ = target_acceptance; }
  bool adapts() const { return target_acceptance_ > 0; }

 protected:
  // Adds the family's buffers to a state whose x, current and workspace.{y, proposed} exist.
  virtual void prepare(const EnergyModel& model, ChainState& state) const = 0;

  virtual void renew_kept(const EnergyModel& model, ChainState& state) const {}

  // Throws Error if the energy or the gradient that a start has is not finite.
  void require_finite_start(const ChainState& state) const;

  // The model at x into out, with what needs() asks for. Returns the model calls a chain.
  int64_t evaluate(EnergyModel& model, const torch::Tensor& x, Evaluation& out) const;

  // The model at y into workspace.proposed. Returns the model calls a chain.
  int64_t evaluate_proposal(EnergyModel& model, ChainState& state) const;

  // The Metropolis test of workspace.y, taking over state, energy, gradient, differences and cache
  // of accepted chains; then the step is over. Unadjusted: without the test.
  // Groups of chains are accepted together.
  static void accept(ChainState& state, StepParams& params, bool unadjusted = false,
                     int64_t group = 1);

 private:
  double target_acceptance_ = 0;
  std::string name_;
  PtDict settings_;
};

}  // namespace isinglass
