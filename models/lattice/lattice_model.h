// Models that the lattice kernel evaluates (kernels/lattice/lattice.h): exact energies, gradients,
// differences and one-site conditionals in float64, with no allocation once the buffers exist.
#pragma once

#include "kernels/ops/chromatic.h"
#include "kernels/ops/lattice.h"
#include "models/derived.h"
#include "models/energy_model.h"

namespace isinglass {

class LatticeModel : public EnergyModel,
                     public HasConditionals,
                     public HasEnergyDifferences,
                     public HasSweeps {
 public:
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;
  // The sites of one colour after the other.
  int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                       torch::Tensor& x, Evaluation& current, ops::StepBuffers& counts) override;
  // The same of chains of exp(−β U), β float64 [B], with energy U; undefined: 1. backwards: the
  // last colour first, which is the reversal in time of a sweep.
  void tempered_sweeps(int64_t steps, const torch::Tensor& beta, const torch::Tensor& rng,
                       const torch::Tensor& chain_ids, torch::Tensor& x, torch::Tensor& energy,
                       ops::StepBuffers& counts, bool backwards = false);

  // The lattice of the present parameters on the device (models/derived.h).
  const ops::LatticeTensors& lattice(torch::Device device);
  // The tensors that it is made from: all parameters and buffers.
  virtual std::vector<torch::Tensor> lattice_sources() const;
  // Of the lattice that has been evaluated last, found when somebody asks: some 400 bytes a site.
  // Null: it has none.
  const ops::NeighbourhoodTensors* neighbourhoods() const;

 protected:
  // The lattice from the model's present parameters, on the CPU; on another device it gets no table of
  // neighbourhoods.
  virtual ops::LatticeTensors make_lattice() const = 0;

 private:
  void evaluate_table(const torch::Tensor& x, LocalTable what, torch::Tensor& energy,
                      torch::Tensor& table);

  struct OnDevice {
    torch::Device device;
    ops::LatticeTensors lattice;
    bool sought = false;                    // the neighbourhoods
    ops::ThresholdTensors thresholds = {};  // of the latest β of chains
    torch::Tensor colour_offset_back = {},
                  coloured_back = {};  // the last colour first, if asked for
  };

  std::vector<torch::Tensor> sources_;
  mutable Derived<OnDevice> on_device_;
  ops::Scratch scratch_;
};

// CSR adjacency of edges int64 [E, 2] (each at both its ends, in the order of the edges), with no
// numbers on it. Sites are coloured greedily in their order: each takes the first colour that no
// neighbour has.
struct LatticeGraph {
  torch::Tensor offset, neighbour, edge;  // int64 [D + 1]; int32, and which edge: int64 [2E]
  torch::Tensor colour_offset = {}, coloured = {};  // as in LatticeTensors
};
LatticeGraph graph_of_edges(int64_t sites, const torch::Tensor& edges);

// With coupling float64 [E], beside unary energies float64 [D, K].
ops::LatticeTensors lattice_on(const LatticeGraph& graph, const torch::Tensor& unary,
                               const torch::Tensor& coupling, double constant);
ops::LatticeTensors lattice_from_edges(const torch::Tensor& unary, const torch::Tensor& edges,
                                       const torch::Tensor& coupling, double constant);
ops::LatticeTensors lattice_without_edges(const torch::Tensor& unary);

}  // namespace isinglass
