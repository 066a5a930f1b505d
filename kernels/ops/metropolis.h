// Runs the Metropolis test (kernels/accept/metropolis.h) on tensors. rng is int64 [2] {seed, step};
// chain_ids int64 [B]; states uint8, float32 or int64 [B, D].
#pragma once

#include "io/torch.h"

namespace isinglass::ops {

using torch::Tensor;

struct StepBuffers {
  Tensor acceptance, hops;          // float64 [B], int64 [B]. They belong to the last step.
  Tensor acceptance_sum, hops_sum;  // float64 [B], int64 [B]
  Tensor non_finite;                // int64 [B]
};

// Tests all chains as in metropolis.h. The accepted rows of proposed[i] are copied to current[i];
// current[0] is x and proposed[0] is y. log_forward and log_backward are undefined for symmetric
// proposals. If `unadjusted`, there is no Metropolis test. Groups of `group` chains are accepted
// together.
void accept(const Tensor& energy, const Tensor& proposed_energy, const Tensor& log_forward,
            const Tensor& log_backward, const Tensor& rng, const Tensor& chain_ids,
            at::TensorList current, at::TensorList proposed, StepBuffers& counts,
            bool unadjusted = false, int64_t group = 1);
void advance(Tensor& rng, int64_t steps = 1);

}  // namespace isinglass::ops
