// Tensors of one_site.h: moves of uniformly or systematically chosen sites.
#pragma once

#include "io/torch.h"
#include "kernels/ops/metropolis.h"

namespace isinglass::ops {

using torch::Tensor;

// choice int64 [B]
void choose_sites(const Tensor& rng, const Tensor& chain_ids, int64_t sites, bool systematic,
                  Tensor& site);
void one_site_neighbours(const Tensor& x, const Tensor& site, int64_t categories,
                         Tensor& neighbours);
void neighbour_differences(const Tensor& x, const Tensor& site, const Tensor& energy,
                           const Tensor& neighbour_energy, Tensor& difference);
void draw_conditionals(const Tensor& difference, const Tensor& site, const Tensor& rng,
                       const Tensor& chain_ids, Tensor& x, Tensor& energy, Tensor& choice,
                       StepBuffers& counts);
// On a CPU: energy [B] and the difference [B, K] at the value that x has now at the site. Returns
// the sum of the new energies, which is not finite where one of them is not.
double add_drawn_differences(const Tensor& x, const Tensor& site, const Tensor& difference,
                             Tensor& energy);

}  // namespace isinglass::ops
