// The contract of a sampler: init(model, x) → state, step(model, state, params) → info. A sampler
// object holds options only; everything that changes is in the state and the parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/chain_state.h"
#include "kernels/balancing.h"

namespace isinglass {

enum class Scan { kRandom, kSystematic };

struct SamplerOptions {
  double radius = 0;  // 0: the sampler's default
  Balancing balancing = Balancing::kSqrt;
  Scan scan = Scan::kRandom;
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  // Evaluates the model once at x (uint8 [B, D] on the model's device) and makes all buffers.
  // chain_ids int64 [B] (global chain numbers). Throws Error if x is not a state of the model, or U
  // or its gradient is not finite at x.
  ChainState init(EnergyModel& model, const torch::Tensor& x, const torch::Tensor& chain_ids) const;

  // One Metropolis–Hastings transition of all chains, in place; advances params.
  virtual StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const = 0;

  virtual bool needs_gradient() const = 0;
  virtual double initial_scale() const { return 0; }  // what StepParams::scale starts from

 protected:
  // Adds the family's buffers to a state whose x, current and workspace.{y, proposed} exist.
  virtual void prepare(const EnergyModel& model, ChainState& state) const = 0;

  // The model at y into workspace.proposed; at the current state's level of detail.
  void evaluate_proposal(EnergyModel& model, ChainState& state) const;

  // The Metropolis test of workspace.y, taking over state, energy, gradient and cache of accepted
  // chains; then the step is over.
  static void accept(ChainState& state, StepParams& params);
};

struct SamplerEntry {
  std::string name;
  std::string summary;      // one line
  std::string needs;        // "gradient", "nothing", "conditionals (or model calls)"
  std::string state_kinds;  // "binary, categorical"
  std::string options;      // the options it reads, with ranges
  std::string paper;
  double default_radius;  // 0: reads no radius
  bool real_radius;       // non-integer R allowed
  bool gradient;
  std::unique_ptr<Sampler> (*make)(const SamplerOptions&);
};

const std::vector<SamplerEntry>& sampler_registry();

// The entry, or an Error that lists the known names, the nearest first.
const SamplerEntry& find_sampler(const std::string& name);

// Checks the options against the sampler and the model (Error: what does not fit, and which
// samplers would work) and builds it.
std::unique_ptr<Sampler> make_sampler(const std::string& name, const SamplerOptions& options,
                                      const EnergyModel& model);

}  // namespace isinglass
