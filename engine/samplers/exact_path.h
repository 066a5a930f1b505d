// Locally balanced samplers that use exact energy differences to all neighbours
// (docs/concepts/samplers.md).
//
//   lb    proposes one move (Zanella 2020, "Informed proposals for local MCMC in discrete spaces")
//   pas   proposes a path of L moves, L random with mean R (Sun, Dai, Xia & Ramamurthy 2022, "Path
//         auxiliary proposal for MCMC in discrete space", eq. 1–2 and algorithm 1)
//
//   each move: Q(σ, ·) ∝ g(π(·)/π(σ)) over the neighbours of σ: one site at another value, or, for
//   permutations, one pair swapped
//   ratio = U(x) − U(y) + log q(reversed path | y) − log q(path | x) = log Z_g(x) − log Z_g(y)
//
// The last equality is eq. 4 of Sun et al. 2022. Both samplers leave π invariant.
// kernels/path/exact_path.h has the formulas of drawing and scoring.
//
// Energy and differences are evaluated at every state of the path except x, whose evaluation is in
// the state. The number of evaluations is the longest path length of the batch; chains whose path
// is complete wait. The host reads that number once per step, which is the only synchronisation of
// pas. To avoid it, every step could take ⌈2R − 1⌉ evaluations, the largest number for a given R;
// but that is D evaluations where R may adapt.
// A lattice has a sampler of its own, which draws the same paths (lattice_path.h).
#pragma once

#include <optional>

#include "engine/sampler.h"
#include "kernels/base/balancing.h"

namespace isinglass {

class DifferencePathSampler : public Sampler {
 public:
  // radius: R ≥ 1, real, with its initial value and the range in which it may adapt; without it, a
  // proposal is one move.
  DifferencePathSampler(std::optional<Scale> radius, Balancing balancing)
      : radius_(std::move(radius)), balancing_(balancing) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  // The host needs the length of the longest path, unless every path is a single move.
  bool needs_host_sync() const override;
  Needs needs() const override { return Needs::kDifferences; }
  std::vector<Scale> scales() const override;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  int64_t max_length() const;

  std::optional<Scale> radius_;
  Balancing balancing_;
};

}  // namespace isinglass
