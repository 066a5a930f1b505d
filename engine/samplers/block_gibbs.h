// Samplers that draw a random block of m sites from an exact conditional distribution
// (docs/concepts/samplers.md). The block is uniform among the sets of m sites.
//
//   block-gibbs   x ~ π(block | rest), over all K^m joint values (Jensen et al. 1995)
//   hamming-ball  u ~ uniform over the Hamming ball of radius r about x on the block;
//                 x ~ π restricted to the ball about u (Titsias & Yau 2017, "The Hamming ball
//                 sampler")
//
// Both are always accepted and leave π invariant. Without u, that is with a draw from π restricted
// to the ball about x itself, the chain would be biased. kernels/gibbs/block_gibbs.h explains how
// candidates are numbered.
#pragma once

#include "engine/sampler.h"

namespace isinglass {

struct BlockBall {
  int64_t sites;        // m, sites of the block
  int64_t radius;       // r ≤ m; r = m gives all joint values
  bool uniform_centre;  // true for hamming-ball, which draws u
};

class BlockSampler : public Sampler {
 public:
  explicit BlockSampler(BlockBall ball) : ball_(ball) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kEnergy; }
  bool is_metropolis() const override { return false; }

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;
  // Computes the energies of all candidates, by model calls on batches of bounded size. Returns the
  // model calls per chain.
  virtual int64_t evaluate_candidates(EnergyModel& model, ChainState& state) const;

  BlockBall ball_;
};

// Computes the energies of all candidates from the lattice, in one kernel.
class LatticeBlockSampler : public BlockSampler {
 public:
  using BlockSampler::BlockSampler;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;
  int64_t evaluate_candidates(EnergyModel& model, ChainState& state) const override;
};

// Returns the number of states within Hamming distance r on m sites, Σ_{j ≤ r} C(m, j) (K − 1)^j.
double ball_states(int64_t sites, int64_t radius, int64_t categories);

}  // namespace isinglass
