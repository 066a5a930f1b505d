// Samplers of a random block of m sites (docs/concepts/samplers.md), always accepted:
//
//   block-gibbs   x ~ π(block | rest), over all K^m joint values
//   hamming-ball  u ~ uniform over the Hamming ball of radius r about x on the block;
//                 x ~ π restricted to the ball about u (Titsias & Yau 2017, "The Hamming ball
//                 sampler")
//
// Without u, a draw from π over the ball about x itself, the radius would bias the chain. The
// energies of all candidates come from the lattice where the model has one, else from model calls
// on batches of bounded size; kernels/gibbs/block_gibbs.h says how candidates are numbered.
#pragma once

#include "engine/sampler.h"

namespace isinglass {

struct BlockBall {
  int64_t sites;        // m
  int64_t radius;       // r ≤ m; r = m: all joint values
  bool uniform_centre;  // hamming-ball's u
};

class BlockSampler : public Sampler {
 public:
  explicit BlockSampler(BlockBall ball) : ball_(ball) {}

  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  Needs needs() const override { return Needs::kEnergy; }
  bool proposes() const override { return false; }

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  BlockBall ball_;
};

// Σ_{j ≤ r} C(m, j) (K − 1)^j: the states within Hamming distance r on m sites.
double ball_states(int64_t sites, int64_t radius, int64_t categories);

}  // namespace isinglass
