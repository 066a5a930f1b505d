// Draws random states, normal numbers (kernels/random/random_states.h, normal.h) and random-walk
// proposals (kernels/random_walk/random_walk.h) into tensors. ids int64 [N]; rng int64 [2]
// {seed, step}; chain_ids int64 [B].
#pragma once

#include "io/torch.h"
#include "kernels/random/philox.h"

namespace isinglass::ops {

using torch::Tensor;

// Draws binary sites; p float32 [D] or [N, D]; out uint8 [N, D].
void bernoulli_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
                    Tensor& out);
// Draws categorical sites; p float64 [D, K], whose rows sum to 1.
void categorical_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step,
                      Purpose purpose, Tensor& out);
// Draws independent sites: with bernoulli_rows() for p float32 [D], with categorical_rows() for p
// float64 [D, K].
void site_rows(const Tensor& p, const Tensor& ids, int64_t seed, int64_t step, Purpose purpose,
               Tensor& out);
void uniform_rows(int64_t categories, const Tensor& ids, int64_t seed, int64_t step,
                  Purpose purpose, Tensor& out);
// Independent categorical or binary sites of which few differ from a reference
// (kernels/random/random_states.h). Each row of the last three holds for as many successive chains.
struct LimitedSiteTensors {
  Tensor p;        // float64 [D, K]
  Tensor differs;  // bool [N, D, K]
  Tensor change;   // float64 [N, D, C]
  Tensor most;     // int64 [N], below C
};

void limited_rows(const LimitedSiteTensors& sites, const Tensor& ids, int64_t seed, int64_t step,
                  Purpose purpose, Tensor& out);
// Draws out float32 [N, D] ~ N(0, I).
void normal_rows(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose, Tensor& out);
// Draws out int64 [N, D], permutations.
void permutation_rows(const Tensor& ids, int64_t seed, int64_t step, Purpose purpose, Tensor& out);

// Draws sites within a step, with the numbers of (seed, step) in device memory. p is float32 [D]
// for binary sites and float64 [D, K] for categorical ones; if it is undefined, sites are uniform
// in 0 … categories − 1. out uint8 [B, D].
void step_sites(const Tensor& p, int64_t categories, const Tensor& rng, const Tensor& chain_ids,
                Purpose purpose, Tensor& out);
// Draws sites of which few differ from a reference within a step; out uint8 [B, D].
void step_limited_rows(const LimitedSiteTensors& sites, const Tensor& rng, const Tensor& chain_ids,
                       Purpose purpose, Tensor& out);
// Draws out float32 [B, D] ~ N(0, I) within a step.
void step_normal_rows(const Tensor& rng, const Tensor& chain_ids, Purpose purpose, Tensor& out);
// Draws out float64 [B, D] ~ N(0, I) within a step, with the purpose kNoise.
void step_normals(const Tensor& rng, const Tensor& chain_ids, Tensor& out);

// Proposes y. x, y uint8 [B, D]; radius float64 [1] or [B, 1]; rng int64 [2]; chain_ids int64 [B].
void flip_uniformly(const Tensor& x, const Tensor& rng, const Tensor& chain_ids,
                    const Tensor& radius, int64_t categories, bool random_count, Tensor& y);

}  // namespace isinglass::ops
