// Tensors of metropolis.h and random_states.h: what every chain needs. rng is int64 [2] {seed, step};
// chain_ids int64 [B]; states uint8 [B, D], or float32 or int64.
#pragma once

#include "io/torch.h"
#include "kernels/random/philox.h"

namespace isinglass::ops {

using torch::Tensor;

struct StepBuffers {
  Tensor acceptance, hops;          // float64 [B], int64 [B]: of this step
  Tensor acceptance_sum, hops_sum;  // float64 [B], int64 [B]
  Tensor non_finite;                // int64 [B]
};

// metropolis.h. current[i] takes over the accepted rows of proposed[i]; current[0] is x and
// proposed[0] is y. log_forward and log_backward are undefined for symmetric proposals. unadjusted:
// no Metropolis test. Groups of `group` chains are accepted together.
void accept(const Tensor& energy, const Tensor& proposed_energy, const Tensor& log_forward,
            const Tensor& log_backward, const Tensor& rng, const Tensor& chain_ids,
            at::TensorList current, at::TensorList proposed, StepBuffers& counts,
            bool unadjusted = false, int64_t group = 1);
void advance(Tensor& rng, int64_t steps = 1);

// random_states.h. p float32 [D] or [N, D]; ids int64 [N]; out uint8 [N, D].
void bernoulli_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
                    Tensor& out);
void uniform_rows(int64_t categories, const Tensor& ids, int64_t seed, int64_t step,
                  Purpose purpose, Tensor& out);
// out float32 [N, D].
void normal_rows(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose, Tensor& out);
// out int64 [N, D].
void permutation_rows(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose, Tensor& out);

}  // namespace isinglass::ops
