// Gibbs sampling, `gibbs` (Geman & Geman 1984; docs/concepts/samplers.md).
//
//   random, systematic  x_i ~ π(x_i | rest) at one site i, chosen at random or in sequence
//   chromatic           draws every site in one step, conditionally independent sites at once: on a
//                       lattice the sites of one colour after those of another (Gonzalez, Low,
//                       Gretton & Guestrin 2011), in an RBM the hidden units and then the sites
//
// `cluster-gibbs` adds to chromatic sweeps of a lattice that chains of a group exchange clusters of
// sites in which they differ (kernels/gibbs/cluster_exchange.h). `metropolis` makes the sweeps with
// a Metropolis test of every flip in place of a draw (Metropolis et al. 1953;
// kernels/random/bernoulli.h).
//
// Draws are always accepted, and every scan leaves π invariant. Models with cheap conditionals
// supply them; for other models a step evaluates the K − 1 neighbours in one batch. One-site steps
// on a lattice are made many per call, and chromatic sweeps too on a GPU.
#pragma once

#include <optional>

#include "engine/sampler.h"

namespace isinglass {

// Draws one site a step: a random one, or the next in sequence.
class GibbsSampler : public Sampler {
 public:
  // last: makes a systematic scan run in reverse; step t then draws at the site of step last − t.
  explicit GibbsSampler(Scan scan, std::optional<int64_t> last = {}) : scan_(scan), last_(last) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kEnergy; }
  bool is_metropolis() const override { return false; }
  // Reverses a systematic scan.
  std::unique_ptr<Sampler> reversed(int64_t last) const override;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

  Scan scan_;
  std::optional<int64_t> last_;
};

// Draws one site a step on a lattice, many steps per kernel call.
class LatticeGibbsSampler : public GibbsSampler {
 public:
  explicit LatticeGibbsSampler(Scan scan) : GibbsSampler(scan) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override {
    return steps(model, state, params, 1);
  }
  StepInfo steps(EnergyModel& model, ChainState& state, StepParams& params,
                 int64_t n) const override;
  // A one-site step is so cheap that a call costs as much, so that one call makes many steps.
  int64_t steps_at_once(const ChainState& state) const override { return kStepsALaunch; }

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;
};

// Draws every site in one step. Where sites are independent, that is an exact draw. The model
// reverses a sweep itself (AnnealingPath::turn_back).
class SweepSampler : public Sampler {
 public:
  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override {
    return steps(model, state, params, 1);
  }
  StepInfo steps(EnergyModel& model, ChainState& state, StepParams& params,
                 int64_t n) const override;
  int64_t steps_at_once(const ChainState& state) const override {
    return state.x.is_cuda() ? kStepsALaunch : 1;
  }
  Needs needs() const override { return Needs::kEnergy; }
  bool is_metropolis() const override { return false; }
  bool captures(const EnergyModel& model) const override;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;
};

// Draws every site in one step; every few steps the chains of a group exchange clusters.
class ClusterGibbsSampler : public SweepSampler {
 public:
  explicit ClusterGibbsSampler(int64_t group) : group_(group) {}

  StepInfo steps(EnergyModel& model, ChainState& state, StepParams& params,
                 int64_t n) const override;
  int64_t steps_at_once(const ChainState& state) const override { return 1; }
  bool is_interacting() const override { return group_ > 1; }

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  int64_t group_;
};

// Tests the flip of every site of a binary lattice in one step, sites of one colour at once.
class MetropolisSweepSampler : public SweepSampler {
 public:
  explicit MetropolisSweepSampler(bool backwards = false) : backwards_(backwards) {}

  StepInfo steps(EnergyModel& model, ChainState& state, StepParams& params,
                 int64_t n) const override;
  // Goes through the colours in reverse.
  std::unique_ptr<Sampler> reversed(int64_t last) const override;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  bool backwards_;
};

// Gives each chain that moved (choice ≥ 0, int64 [B]) the cache of its chosen candidate.
// of_candidates [B·n, …] holds n rows per chain.
void take_cache(const torch::Tensor& choice, const std::vector<torch::Tensor>& of_candidates,
                std::vector<torch::Tensor>& cache);

}  // namespace isinglass
