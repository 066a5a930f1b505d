// Models that the lattice kernel evaluates (kernels/lattice/lattice.h): exact energies, gradients,
// differences and one-site conditionals in float64, with no allocation once the buffers exist.
#pragma once

#include "kernels/ops/lattice.h"
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

  // The lattice of the present parameters on the device, kept until the device changes.
  const ops::LatticeTensors& lattice(torch::Device device);
  // Of the lattice that has been evaluated last, found when somebody asks: some 400 bytes a site.
  // Null: it has none.
  const ops::NeighbourhoodTensors* neighbourhoods() const;

 protected:
  // The lattice from the model's present parameters, on their device; built anew when that changes.
  virtual ops::LatticeTensors make_lattice() const = 0;
  void forget_lattice() {  // the next evaluation makes it anew
    lattice_ = {};
    sought_ = false;
  }

 private:
  void evaluate_table(const torch::Tensor& x, LocalTable what, torch::Tensor& energy,
                      torch::Tensor& table);

  mutable ops::LatticeTensors lattice_;
  mutable bool sought_ = false;  // the neighbourhoods
};

// CSR adjacency of edges int64 [E, 2] with coupling float64 [E] (each edge at both its ends, in the
// order of the edges), beside unary energies float64 [D, K]. Sites are coloured greedily in their
// order: each takes the first colour that no neighbour has.
ops::LatticeTensors lattice_from_edges(const torch::Tensor& unary, const torch::Tensor& edges,
                                       const torch::Tensor& coupling, double constant);
ops::LatticeTensors lattice_without_edges(const torch::Tensor& unary);

}  // namespace isinglass
