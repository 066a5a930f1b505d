// The contract of a sampler: init(model, x) → state, step(model, state, params) → info. A sampler
// object holds options only; everything that changes is in the state and the parameters.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/chain_state.h"
#include "io/error.h"
#include "io/pt/pt_file.h"
#include "kernels/base/balancing.h"

namespace isinglass {

// The energy or its gradient is not finite where chains begin.
class NonFinite : public Error {
 public:
  using Error::Error;
};

enum class Scan { kRandom, kSystematic, kChromatic };

// What may be said about a sampler; the entry in the registry tells which of it the sampler reads,
// with defaults and ranges.
struct SamplerOptions {
  std::optional<double> radius = {}, tau = {}, step_size = {}, block = {}, sigma = {}, alpha = {};
  std::optional<double> target_acceptance = {};
  std::optional<double> leapfrog = {}, pull = {}, group = {}, mass = {}, damping = {};
  Balancing balancing = Balancing::kSqrt;
  Scan scan = Scan::kRandom;
  bool adapt = false;           // the step size, in burn-in
  bool unadjusted = false;      // no Metropolis test: not exact
  bool monotonic = false;       // lsb-2: a monotonic balancing function
  bool always_accept = false;   // no Metropolis test: not exact
  bool elastic_energy = false;  // fhl: the pull in the energy, too: not exact
  bool warm = false;            // the numbers were adapted by an earlier run
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
  // Afterwards nothing changes but the chains. The default adapts scale 0 where adapts().
  virtual StepInfo burn_in_step(EnergyModel& model, ChainState& state, StepParams& params,
                                int64_t t, int64_t total) const;
  // Whether a step in burn-in differs from others.
  virtual bool learns() const { return adapts(); }
  // After burn-in; none if the sampler learns nothing.
  virtual std::optional<Adaptation> adaptation(const ChainState& state, const StepParams& params,
                                               const BurnIn& burn_in) const;

  // Whether a step waits for a number that the device has found: then it cannot be captured
  // (engine/run/step_graph.h).
  virtual bool asks_device() const { return false; }

  // Anew at the chains' states, where the energies themselves have changed (engine/annealing/cooling.h): the
  // evaluation and what the family keeps of it, in the tensors that are there.
  void renew(EnergyModel& model, ChainState& state) const;

  // As init(), in the state's own tensors. Throws Error for another number of chains, too.
  void restart(EnergyModel& model, ChainState& state, const torch::Tensor& x,
               const torch::Tensor& chain_ids) const;

  virtual Needs needs() const = 0;
  virtual std::vector<Scale> scales() const { return {}; }  // what StepParams::scale starts from
  virtual bool exact() const { return true; }               // leaves π invariant
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

  // --adapt: Robbins–Monro steps towards a mean acceptance (engine/adaptation/acceptance.h).
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

// An option of a sampler: its name on the command line, its default (undefined: none) and range.
struct SamplerOptionUse {
  std::string name;
  std::optional<double> initial = {};
  double least = 0, most = 0;  // of a number; equal for switches and choices
  bool whole = false;          // whole numbers only
  bool above_least = false;    // the least itself is refused
  // What the model allows, given the options before this one in sampler_numbers(): the default is
  // cut to it. Null: any default will do.
  double (*largest)(const SamplerOptions&, const EnergyModel&) = nullptr;
};

struct SamplerEntry {
  std::string name;
  std::string summary;  // one line
  std::string paper;
  std::string needs;             // "gradient", "nothing", "differences", "conditionals …"
  std::vector<StateKind> kinds;  // states it works on
  std::vector<SamplerOptionUse> options;
  bool gradient;  // works on differentiable models only
  std::unique_ptr<Sampler> (*make)(const SamplerOptions&, const EnergyModel&);
  // Throws Error if options and model do not fit each other; null: all do.
  void (*check)(const SamplerOptions&, const EnergyModel&) = nullptr;
  int64_t site_matrices = 0;  // float64 [D, D] that it holds at once

  const SamplerOptionUse* option(const std::string& option) const;  // null: not read
  bool fits(const EnergyModel& model) const;
};

// Entries made by the families.
std::vector<SamplerOptionUse> radius_option(double initial, bool whole);
SamplerOptionUse balancing_option();
std::vector<SamplerOptionUse> adaptation_options(double target);

const std::vector<SamplerEntry>& sampler_registry();

// The numeric options and the switches by name: --name and the member that holds it.
const std::vector<std::pair<std::string, std::optional<double> SamplerOptions::*>>&
sampler_numbers();
const std::vector<std::pair<std::string, bool SamplerOptions::*>>& sampler_switches();

// The balancing functions and the scans by name, in the order of their enumerations.
const std::vector<std::string>& balancing_names();
const std::vector<std::string>& scan_names();

// "radius, balancing": for messages.
std::string option_names(const SamplerEntry& entry);

// The entry, or an Error that lists the known names, the nearest first.
const SamplerEntry& find_sampler(const std::string& name);

// The options with the sampler's defaults where nothing is said, cut to what the model allows.
// Throws Error for options that the sampler does not read, or numbers out of its range.
SamplerOptions with_defaults(const SamplerEntry& entry, SamplerOptions options,
                             const EnergyModel& model);

// Checks the options against the sampler and the model (Error: what does not fit, and which
// samplers would work) and builds it.
std::unique_ptr<Sampler> make_sampler(const std::string& name, const SamplerOptions& options,
                                      const EnergyModel& model);

// "binary, categorical": for tables and messages.
std::string kinds_text(const std::vector<StateKind>& kinds);

}  // namespace isinglass
