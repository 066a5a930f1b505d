// Runs Gibbs steps (kernels/gibbs/) on tensors: of one site by its conditional, of one site of a
// lattice, of a block of sites from a set of joint values, and sweeps of a lattice by colours.
#pragma once

#include "io/torch.h"
#include "kernels/ops/lattice.h"
#include "kernels/ops/metropolis.h"
#include "kernels/random/bernoulli.h"

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

// Performs `steps` steps; x uint8 [B, D] and energy float64 [B] are updated in place.
void lattice_gibbs_steps(const LatticeTensors& lattice, int64_t steps, bool systematic,
                         const Tensor& rng, const Tensor& chain_ids, Tensor& x, Tensor& energy,
                         StepBuffers& counts);

struct BlockTensors {
  Tensor entry;    // int32 [N, r]
  Tensor inverse;  // int32 [N]
  Tensor site;     // int32 [B, m]
  Tensor centre;   // int32 [B]
  int64_t categories = 2;
};

// These functions run the kernels of block_gibbs.h. x, u uint8 [B, D]; table float64 [B, N]; energy
// float64 [B]; choice int64 [B].
void choose_blocks(BlockTensors& blocks, bool uniform_centre, const Tensor& rng,
                   const Tensor& chain_ids, const Tensor& x, Tensor& u);
// Writes states uint8 [B·count, D].
void block_states(const BlockTensors& blocks, const Tensor& u, int64_t first, int64_t count,
                  Tensor& states);
void lattice_block_energies(const LatticeTensors& lattice, const BlockTensors& blocks,
                            const Tensor& u, const Tensor& energy, Tensor& table);
void draw_blocks(const BlockTensors& blocks, const Tensor& table, const Tensor& rng,
                 const Tensor& chain_ids, Tensor& x, Tensor& u, Tensor& energy, Tensor& choice,
                 StepBuffers& counts);

// Holds the thresholds that sweeps at several β look up on a lattice with neighbourhood tables
// (kernels/gibbs/fast/chromatic_table_cpu.h). The tensors are undefined if there are none.
struct ThresholdTensors {
  Tensor betas;  // float64 [T]. The numbers increase.
  Tensor row;    // int32 [D]. It depends on the lattice only and is computed once.
  Tensor words;  // uint32 [T, rows, 16]
  int64_t rows = 0;
};

// Sets the thresholds for beta, float64 [B]. Thresholds of this lattice that cover these β are
// kept.
void tabulate_thresholds(const LatticeTensors& lattice, const Tensor& beta,
                         ThresholdTensors& thresholds);

// Holds what sweeps of a lattice with exact sums keep (kernels/gibbs/fast/kept_fields_cpu.h).
struct KeptFieldTensors {
  Tensor field;  // float64 [groups, D, 8]
  Tensor state;  // uint8 [B, D]
  Tensor calm;   // int32 [groups]
};

// Exchanges clusters between chains x uint8 [B, D] of groups of `group` chains, which divides B,
// and updates their energy float64 [B] (kernels/gibbs/cluster_exchange.h). beta is float64 [B], or
// undefined for 1.
void exchange_clusters(const LatticeTensors& lattice, int64_t group, const Tensor& rng,
                       const Tensor& chain_ids, const Tensor& beta, Tensor& x, Tensor& energy,
                       Scratch& scratch);

// Performs `steps` sweeps, in which binary sites are drawn by `rule`; x uint8 [B, D] and energy
// float64 [B] are updated in place. beta is float64 [B], or undefined for 1. The lattice must have
// its colours. `thresholds`, which serve the heat bath only, must belong to these β, and `kept` to
// this lattice.
void chromatic_sweep(const LatticeTensors& lattice, SiteRule rule, int64_t steps, const Tensor& rng,
                     const Tensor& chain_ids, const Tensor& beta,
                     const ThresholdTensors& thresholds, KeptFieldTensors& kept, Tensor& x,
                     Tensor& energy, Scratch& scratch, StepBuffers& counts);

}  // namespace isinglass::ops
