// Path samplers that use gradients: gwg (Grathwohl, Swersky, Hashemi, Duvenaud & Maddison 2021,
// "Oops I took a gradient"), pafs and nb (Sun, Dai, Xia & Ramamurthy 2022, "Path auxiliary proposal
// for MCMC in discrete space"; pafs eq. 5–6), on binary, categorical and ordered sites.
//
// They propose the end y of a path of moves whose weights come from the gradient at x, a
// first-order estimate of the energy differences:
//
//   L ~ Uniform{1 … 2R − 1};  path σ_0 = x … σ_L = y by first-order locally balanced moves
//   gwg:  L sites i.i.d. from the weights at x, one new value for each distinct site
//   pafs: one move after the other, the weights following the path with the gradient fixed at x
//   nb:   pairs (site, new value) without replacement from the weights at x: L sites change;
//         reversed: the old values in reverse order, without replacement from the weights at y
//   ratio = U(x) − U(y) + log q(reversed path | y) − log q(path | x)
//
// The first-order weights enter the proposal alone; the ratio has exact energies, so that all three
// leave π invariant.
//
// A step costs one model call: energy and gradient at y; those at x are in the state. On a lattice,
// fused lattice steps evaluate only the neighbours of the path's sites
// (kernels/path/fast/lattice_path.h). They give the same draws and the same chains. On a GPU they
// make many steps per launch, provided a chain fits into shared memory. On a CPU they are not used
// if most pairs of sites are neighbours.
#pragma once

#include <optional>

#include "engine/sampler.h"
#include "kernels/ops/path.h"

namespace isinglass {

class PathSampler : public Sampler {
 public:
  // radius: R ≥ 1, real, with its initial value and the range in which it may adapt.
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
  void refresh_cache(const EnergyModel& model, ChainState& state) const override;

 private:
  PathRule rule_;
  Scale radius_;
  Balancing balancing_;
};

// Shared by all path samplers: path_radius() returns R, which is real, with the range in which it
// may adapt (up to paths of D moves); longest_path() returns the longest path that this range
// allows; path_options() describes the options.
Scale path_radius(const SamplerOptions& options, const EnergyModel& model);
int64_t longest_path(const Scale& radius);
std::vector<SamplerOptionUse> path_options(double radius);

// Makes the buffers of fused lattice steps; nullopt if the model or the device does not allow such
// steps. The rule matters to samplers that use gradients only.
std::optional<ops::LatticePaths> local_paths(const EnergyModel& model, ChainState& state,
                                             PathRule rule, Balancing balancing,
                                             int64_t max_length);
// Makes n fused lattice steps. radius: float64 [1] or [B, 1].
void local_steps(EnergyModel& model, ChainState& state, StepParams& params,
                 const torch::Tensor& radius, ops::LatticePaths& paths, int64_t n);
// Invalidates the cached weights of these chains (int64) of a tempered run, whose states and
// evaluations have been replaced.
void forget_local(ChainState& state, const torch::Tensor& chains, ops::LatticePaths& paths);
// Returns how many fused lattice steps one call should make at most; 1 without such steps.
int64_t local_steps_at_once(const std::optional<ops::LatticePaths>& local);

}  // namespace isinglass
