// Base class of pairwise models that the lattice kernels evaluate (kernels/lattice/lattice.h):
//
//   U(x) = constant + Σ_i u_{i,x_i} − Σ_{e=(i,j)} c_e(x_i, x_j)
//
// for states x uint8 [B, D]. Energies, gradients, differences and one-site conditionals are exact
// and computed in float64, and nothing is allocated once the buffers exist.
#pragma once

#include "kernels/ops/gibbs.h"
#include "kernels/ops/lattice.h"
#include "models/cached.h"
#include "models/energy_model.h"

namespace isinglass {

class LatticeModel : public EnergyModel,
                     public HasConditionals,
                     public HasEnergyDifferences,
                     public HasLocalSteps,
                     public HasSweeps {
 public:
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;
  // Makes sweeps that draw the sites of one colour after the other, those of a colour in parallel.
  int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                       torch::Tensor& x, Evaluation& current, ops::StepBuffers& counts) override;
  // Makes such sweeps of chains that target exp(−β U), with β float64 [B] (undefined: 1); `energy`
  // is U. With `backwards` the last colour comes first, which is the time reversal of a sweep.
  // Binary sites are drawn by `rule` (kernels/random/bernoulli.h).
  void tempered_sweeps(int64_t steps, const torch::Tensor& beta, const torch::Tensor& rng,
                       const torch::Tensor& chain_ids, torch::Tensor& x, torch::Tensor& energy,
                       ops::StepBuffers& counts, bool backwards = false,
                       SiteRule rule = SiteRule::kHeatBath);

  HasLocalSteps* local_steps() override { return this; }
  LatticeModel& local_lattice() override { return *this; }
  LocalTensors local_tensors(Evaluation& current) override;

  torch::Device device() const { return lattice_sources().front().device(); }
  // Returns the lattice for the present parameters, on the device. It is cached (models/cached.h).
  const ops::LatticeTensors& lattice(torch::Device device);
  // Returns the tensors from which the lattice is made: all parameters and buffers.
  virtual std::vector<torch::Tensor> lattice_sources() const;
  // Returns the tables of neighbourhoods (kernels/lattice/fast/neighbourhood_table.h) of the
  // lattice that was evaluated last. They take about 400 bytes a site and are computed on first
  // use, or together with the lattice on a GPU. Null if the lattice allows none.
  const ops::NeighbourhoodTensors* neighbourhoods() const;

 protected:
  // Makes the lattice from the model's present parameters, normally on the CPU. A lattice that is
  // made on another device gets no tables of neighbourhoods.
  virtual ops::LatticeTensors make_lattice() const = 0;

 private:
  // Returns lattice(device), with the matrix of a dense one (ops::ProductTensors).
  const ops::LatticeTensors& evaluated_lattice(torch::Device device);
  void evaluate_table(const torch::Tensor& x, LocalTable what, torch::Tensor& energy,
                      torch::Tensor& table);

  struct OnDevice {
    torch::Device device;
    ops::LatticeTensors lattice;
    bool sought = false;                    // the tables of neighbourhoods have been looked for
    bool sought_products = false;           // ops::make_products() has been called
    ops::ThresholdTensors thresholds = {};  // for the latest β of the chains
    ops::KeptFieldTensors kept = {};        // by sweeps
    // Hold the colours in reverse order, made on first use.
    torch::Tensor colour_offset_back = {}, coloured_back = {};
  };

  std::vector<torch::Tensor> sources_;
  mutable Cached<OnDevice> on_device_;
  ops::Scratch scratch_;
};

// CSR adjacency of edges int64 [E, 2], without couplings. Each edge appears at both its ends, in
// the order of the edges. Sites are coloured greedily in ascending order: each takes the first
// colour that none of its neighbours has.
struct LatticeGraph {
  // Hold the adjacency: offset int64 [D + 1]; neighbour int32 [2E]; edge int64 [2E], the edge that
  // each entry belongs to; first bool [2E], true if the entry's site is the edge's first one.
  torch::Tensor offset, neighbour, edge, first;
  torch::Tensor colour_offset = {}, coloured = {};  // as in LatticeTensors
};
LatticeGraph graph_of_edges(int64_t sites, const torch::Tensor& edges);

// Make a lattice from unary energies float64 [D, K] and couplings float64 [E], or tables of
// couplings [E, K, K], indexed by the values of the edge's first and second site.
ops::LatticeTensors lattice_on(const LatticeGraph& graph, const torch::Tensor& unary,
                               const torch::Tensor& coupling, double constant);
ops::LatticeTensors lattice_from_edges(const torch::Tensor& unary, const torch::Tensor& edges,
                                       const torch::Tensor& coupling, double constant);
ops::LatticeTensors lattice_without_edges(const torch::Tensor& unary);

}  // namespace isinglass
