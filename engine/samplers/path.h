// Path samplers: gwg (Grathwohl et al. 2021, "Oops I took a gradient"), pafs and nb (Sun, Dai, Xia
// & Ramamurthy 2022, "Path auxiliary proposal for MCMC in discrete space"), on binary, categorical
// and ordered sites.
//
//   L ~ Uniform{1 … 2R − 1};  path σ_0 = x … σ_L = y by first-order locally balanced moves
//   gwg:  L sites i.i.d. from the weights at x, one new value for each distinct site
//   pafs: one move after the other, the weights following the path with the gradient fixed at x
//   nb:   pairs (site, new value) without replacement from the weights at x: L sites change;
//         reversed: the old values in reverse order, without replacement from the weights at y
//   ratio = U(x) − U(y) + log q(reversed path | y) − log q(path | x)
//
// One model call a step: energy and gradient at y; those at x are in the state. On a lattice a step
// evaluates the neighbours of the path's sites only (kernels/path/fast/lattice_path.h): the same
// draws, and the same chains; on a GPU many steps a launch, where a chain fits into shared memory. Not
// where most sites are neighbours, on a CPU.
#pragma once

#include <optional>

#include "engine/sampler.h"
#include "kernels/ops/lattice_path.h"

namespace isinglass {

class PathSampler : public Sampler {
 public:
  // R ≥ 1, real, its start and the range in which it may adapt
  PathSampler(PathRule rule, Scale radius, Balancing balancing)
      : rule_(rule), radius_(std::move(radius)), balancing_(balancing) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  StepInfo steps(EnergyModel& model, ChainState& state, StepParams& params,
                 int64_t n) const override;
  int64_t steps_at_once(const ChainState& state) const override;
  Needs needs() const override { return Needs::kGradient; }
  std::vector<Scale> scales() const override { return {radius_}; }
  void states_replaced(ChainState& state, const torch::Tensor& chains) const override;
  bool reads_table(const ChainState& state) const override;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;
  void renew_kept(const EnergyModel& model, ChainState& state) const override;

 private:
  PathRule rule_;
  Scale radius_;
  Balancing balancing_;
};

// What all path samplers share: R, real, and how far it may adapt (to paths of D moves), the
// longest path of it, and the options.
Scale path_radius(const SamplerOptions& options, const EnergyModel& model);
int64_t longest_path(const Scale& radius);
std::vector<SamplerOptionUse> path_options(double radius);

// What local steps keep; none where steps are not local. rule: of samplers by gradients.
std::optional<ops::LatticePaths> local_paths(const EnergyModel& model, ChainState& state,
                                             PathRule rule, Balancing balancing,
                                             int64_t max_length);
void local_steps(EnergyModel& model, ChainState& state, StepParams& params,
                 const torch::Tensor& radius, ops::LatticePaths& paths, int64_t n);
// The states of these tempered chains (int64) have been replaced, with what is known of them.
void forget_local(ChainState& state, const torch::Tensor& chains, ops::LatticePaths& paths);
// How many local steps are worth to be taken at once.
int64_t local_steps_at_once(const std::optional<ops::LatticePaths>& local);

}  // namespace isinglass
