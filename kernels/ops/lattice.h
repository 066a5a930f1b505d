// Computes energies of pairwise lattice models (kernels/lattice/lattice.h), and the tables of
// neighbourhood_table.h for binary graphs with few neighbours, on tensors.
#pragma once

#include "io/torch.h"
#include "kernels/lattice/lattice.h"
#include "kernels/ops/scratch.h"

namespace isinglass::ops {

using torch::Tensor;

// Holds the tables of neighbourhood_table.h; the tensors are undefined if there are none.
struct NeighbourhoodTensors {
  Tensor neighbour;       // int32 [D, 4]
  Tensor flip_energy;     // float64 [D, 16]
  Tensor half_flip;       // float64 [D, 16]
  Tensor gradient;        // float32 [D, 16]
  Tensor threshold_word;  // uint32 [D, 16]
  double constant = 0;

  bool defined() const { return neighbour.defined(); }
};

// Holds what the evaluation by matrix products needs (kernels/lattice/fast/products_cpu.h); the
// tensors are undefined where sums over the neighbours are faster.
struct ProductTensors {
  Tensor coupling;  // float32 or float64 [D, D]: c_ij, symmetric, 0 where there is no edge
  Tensor total;     // float64 [D]: Σ_j c_ij

  bool defined() const { return coupling.defined(); }
};

struct LatticeTensors {
  Tensor unary;      // float64 [D, K]
  Tensor offset;     // int64 [D + 1]
  Tensor neighbour;  // int32 [2E]
  Tensor coupling;   // float64 [2E]; with tables [2E, K, K], as in Lattice
  double constant = 0;
  Tensor colour_offset = {};  // int64 [colours + 1]
  Tensor coloured = {};       // int32 [D]. Lists the sites colour by colour (lattice_from_edges).
  NeighbourhoodTensors neighbourhoods = {};
  ProductTensors products = {};
  bool exact_sums = false;  // as round_for_exact_sums() has made them
};
// Writes energy float64 [B] and table float32 [B, D] or [B, D, K], the gradient or the differences,
// which is undefined if it is not wanted.
void lattice_evaluate(const LatticeTensors& lattice, const Tensor& x, bool one_hot, LocalTable what,
                      Tensor& energy, const Tensor& table, Scratch& scratch);
// Writes difference float64 [B, K] = U(x with x_site ← k) − U(x); site int64 [B].
void lattice_differences(const LatticeTensors& lattice, const Tensor& x, const Tensor& site,
                         Tensor& difference);

// Rounds the weights for exact sums and notes it in exact_sums, if the lattice is on the CPU and
// kernels/lattice/exact_sums_cpu.h allows it.
void round_for_exact_sums(LatticeTensors& lattice);
// Returns true if a CPU evaluates the lattice by matrix products.
bool uses_products(const LatticeTensors& lattice);
// Returns the tensors of such a lattice, and undefined tensors for another.
ProductTensors make_products(const LatticeTensors& lattice);

// Returns the tables on `device`, for a lattice on the CPU; undefined tensors if it can have none.
NeighbourhoodTensors tabulate_neighbourhoods(const LatticeTensors& lattice, torch::Device device);

}  // namespace isinglass::ops
