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
// A step costs one model call: energy and gradient at y; those at x are in the state. A lattice has
// a sampler of its own, which makes the same chains (lattice_path.h).
#pragma once

#include "engine/sampler.h"
#include "kernels/ops/path.h"

namespace isinglass {

class PathSampler : public Sampler {
 public:
  // radius: R ≥ 1, real, with its initial value and the range in which it may adapt.
  PathSampler(PathRule rule, Scale radius, Balancing balancing)
      : rule_(rule), radius_(std::move(radius)), balancing_(balancing) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kGradient; }
  std::vector<Scale> scales() const override { return {radius_}; }

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

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

}  // namespace isinglass
