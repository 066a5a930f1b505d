// Tensors of random_states.h and normal.h. ids int64 [N]; rng is int64 [2] {seed, step}; chain_ids
// int64 [B].
#pragma once

#include "io/torch.h"
#include "kernels/random/philox.h"

namespace isinglass::ops {

using torch::Tensor;

// p float32 [D] or [N, D]; out uint8 [N, D].
void bernoulli_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
                    Tensor& out);
// p float64 [D, K], rows that sum to 1.
void categorical_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step,
                      Purpose purpose, Tensor& out);
// Independent sites: bernoulli_rows of p float32 [D], categorical_rows of p float64 [D, K].
void site_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
               Tensor& out);
void uniform_rows(int64_t categories, const Tensor& ids, int64_t seed, int64_t step,
                  Purpose purpose, Tensor& out);
// out float32 [N, D].
void normal_rows(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose, Tensor& out);
// out int64 [N, D].
void permutation_rows(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose, Tensor& out);

// In a step: the numbers of (seed, step) in device memory. p float32 [D] of binary sites, float64
// [D, K] of categorical ones; undefined: uniform in 0 … categories − 1. out uint8 [B, D].
void step_sites(const Tensor& p, int64_t categories, const Tensor& rng, const Tensor& chain_ids,
                Purpose purpose, Tensor& out);
// out float32 [B, D]
void step_normal_rows(const Tensor& rng, const Tensor& chain_ids, Purpose purpose, Tensor& out);
// out float64 [B, D], of purpose kNoise
void step_normals(const Tensor& rng, const Tensor& chain_ids, Tensor& out);

}  // namespace isinglass::ops
