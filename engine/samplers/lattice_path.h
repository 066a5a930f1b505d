// Path samplers on a lattice: gwg, pafs and nb (path.h), lb and pas (exact_path.h) by fused steps,
// which evaluate only the neighbours of the path's sites (kernels/path/fast/lattice_path.h). They
// give the same draws and the same chains as the general samplers. On a GPU they make many steps
// per launch, provided a chain fits into shared memory. On a CPU they are not used in graphs so
// dense that evaluating all sites is faster.
#pragma once

#include <memory>
#include <optional>

#include "engine/sampler.h"
#include "kernels/ops/path.h"

namespace isinglass {

class LatticePathSampler : public Sampler, public CachesWeights {
 public:
  // what: the table from which the weights of moves come. rule: matters to gradients only. radius:
  // R ≥ 1, real, with its initial value and the range in which it may adapt; without it, a proposal
  // is one move.
  LatticePathSampler(LocalTable what, PathRule rule, std::optional<Scale> radius,
                     Balancing balancing);

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override {
    return steps(model, state, params, 1);
  }
  StepInfo steps(EnergyModel& model, ChainState& state, StepParams& params,
                 int64_t n) const override;
  int64_t steps_at_once(const ChainState& state) const override;
  // The host counts the evaluations of pas by the length of the longest path.
  bool needs_host_sync() const override { return counts_longest_; }
  Needs needs() const override;
  std::vector<Scale> scales() const override;
  const CachesWeights* caches_weights() const override { return this; }
  void states_replaced(ChainState& state, const torch::Tensor& chains) const override;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;
  void refresh_cache(const EnergyModel& model, ChainState& state) const override;

 private:
  void begin(const EnergyModel& model, ChainState& state) const;

  LocalTable what_;
  PathRule rule_;
  std::optional<Scale> radius_;
  Balancing balancing_;
  int64_t longest_;  // the longest path
  bool counts_longest_;
};

// Returns the model's fused steps on a lattice; null if it is on none.
HasLocalSteps* local_steps_of(const EnergyModel& model);

// Makes the sampler for the model; null if the model or its device does not allow fused steps.
std::unique_ptr<Sampler> make_lattice_path(const EnergyModel& model, LocalTable what, PathRule rule,
                                           std::optional<Scale> radius, Balancing balancing);

}  // namespace isinglass
