// Runs the parts of one-site Gibbs steps (kernels/gibbs/one_site.h), with random or systematic
// scans, on tensors.
#pragma once

#include "io/torch.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

using torch::Tensor;

// These functions run the kernels of one_site.h. choice is int64 [B].
void choose_sites(const Tensor& rng, const Tensor& chain_ids, int64_t sites, bool systematic,
                  Tensor& site);
void one_site_neighbours(const Tensor& x, const Tensor& site, int64_t categories,
                         Tensor& neighbours);
void neighbour_differences(const Tensor& x, const Tensor& site, const Tensor& energy,
                           const Tensor& neighbour_energy, Tensor& difference);
void draw_conditionals(const Tensor& difference, const Tensor& site, const Tensor& rng,
                       const Tensor& chain_ids, Tensor& x, Tensor& energy, Tensor& choice,
                       StepBuffers& counts);
// Adds to energy [B] the difference [B, K] at the value that x now has at the site (CPU only).
// Returns the sum of the new energies, which is not finite if one of them is not.
double add_drawn_differences(const Tensor& x, const Tensor& site, const Tensor& difference,
                             Tensor& energy);

}  // namespace isinglass::ops
