// Locally balanced samplers with exact neighbour differences (docs/concepts/samplers.md): lb (one
// move; Zanella 2020, "Informed proposals for local MCMC in discrete spaces") and pas (a path; Sun
// et al. 2022, "Path auxiliary proposal for MCMC in discrete space"). The arithmetic is in
// kernels/path/exact_path.h.
//
//   y: L moves from x, each Q(σ, ·) ∝ g(π(·)/π(σ)) over σ's neighbours: one site at another value,
//   or (permutations) one pair swapped; L = 1, or random with mean R
//   ratio = U(x) − U(y) + log q(reversed path | y) − log q(path | x) = log Z_g(x) − log Z_g(y)
//
// Energy and differences are evaluated at every state of the path but x, whose are in the state: as
// often as the longest path of the batch has moves. Chains that have arrived stay where they are
// meanwhile. That number is read back once a step, the only synchronisation of pas; masked rounds
// up to ⌈2R − 1⌉ would need none, but D of them where R may adapt. On a lattice steps are local
// instead (kernels/path/fast/lattice_path.h), with the same draws; on a GPU many a launch.
#pragma once

#include <optional>

#include "engine/sampler.h"
#include "kernels/base/balancing.h"

namespace isinglass {

class DifferencePathSampler : public Sampler {
 public:
  // radius: R ≥ 1, real, its start and the range in which it may adapt; none: one move
  DifferencePathSampler(std::optional<Scale> radius, Balancing balancing)
      : radius_(std::move(radius)), balancing_(balancing) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  StepInfo steps(EnergyModel& model, ChainState& state, StepParams& params,
                 int64_t n) const override;
  int64_t steps_at_once(const ChainState& state) const override;
  // How long the longest path is; a single move needs no asking.
  bool asks_device() const override;
  Needs needs() const override { return Needs::kDifferences; }
  std::vector<Scale> scales() const override;
  void states_replaced(ChainState& state, const torch::Tensor& chains) const override;
  bool reads_table(const ChainState& state) const override;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;
  void renew_kept(const EnergyModel& model, ChainState& state) const override;

 private:
  int64_t max_length() const;

  std::optional<Scale> radius_;
  Balancing balancing_;
};

}  // namespace isinglass
