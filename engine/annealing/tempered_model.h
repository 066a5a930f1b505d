// A model at inverse temperature β, which is one for all chains or one per chain:
//
//   U_β = U_0 + β·(U − U_0)   the linear path from a start U_0, which is a factorised distribution
//                             or a base. If the model itself contains it (U = U_base + g,
//                             U_0 = U_base), this is U_base + β·g
//   U_β = β·U                 without U_0: cooling, β = 1/T
//
// It has one of two forms.
//   parts    The cache holds the parts of every state's evaluation (U, U_0, and ∇U or the
//            differences of both), followed by the target's own cache. A change of β needs no model
//            call.
//            Conditionals are computed from those of the parts. A lattice has sweeps; where U_0 is
//            uniform or absent, it also has fused lattice steps and allows one β per chain.
//   lattice  β·U of a lattice is a lattice with couplings and fields times β. Samplers see that
//            lattice, and fused lattice steps remain available. A change of β needs an evaluation.
//            This form has a single β and no U_0.
//
// Evaluation::target is U, once flush_energy() has been called. If the target is itself at a
// temperature T (at_temperature.h), its energy in all of this is U/T, and Evaluation::target is the
// U of that. Where U_0 or U is infinite, U_β is U_0 at β = 0 and U at β = 1
// (kernels/tempering/mixture.h).
#pragma once

#include <memory>

#include "engine/annealing/factorised.h"
#include "engine/sampler.h"
#include "kernels/ops/scratch.h"
#include "models/bounds.h"
#include "models/energy_model.h"
#include "models/on_base.h"

namespace isinglass {

class TemperedModel : public EnergyModel,
                      public HasConditionals,
                      public HasEnergyDifferences,
                      public HasLocalSteps,
                      public HasSweeps,
                      public HasBase,
                      public HasBounds {
 public:
  // The form of a lattice without a start; all other models have the form of parts.
  enum class Form { kParts, kLattice };

  // Target and start (null: none) must outlive this object. betas: the number of β, 1 or one per
  // chain. Their initial value is 0 with a start and 1 without.
  TemperedModel(EnergyModel& target, const Factorised* start, torch::Device device,
                Form form = Form::kParts, int64_t betas = 1);
  ~TemperedModel() override;

  std::string kind_name() const override { return target_.kind_name(); }
  std::string title() const override;
  StateSpace space() const override { return target_.space(); }
  std::optional<Bounds> bounds() const override { return bounds_of(target_); }
  bool differentiable() const override { return target_.differentiable(); }
  bool capturable() const override { return target_.capturable(); }
  bool reads_parameters_in_place() const override { return target_.reads_parameters_in_place(); }

  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x, const torch::Tensor& y,
                      bool gradient, Evaluation& out) override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  int64_t difference_calls() const override { return difference_calls_; }  // those of the target
  void flush_energy(const torch::Tensor& x, Evaluation& current) override;

  HasConditionals* conditionals() override;
  HasSweeps* sweeps() override;
  HasEnergyDifferences* exact_differences() override;
  LatticeModel* as_lattice() override;
  HasLocalSteps* local_steps() override;
  LatticeModel& local_lattice() override { return *lattice_; }
  LocalTensors local_tensors(Evaluation& current) override;
  void finish_local_steps(Evaluation& current) override { recombine_energy(current); }
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;
  void update_after_move(const torch::Tensor& x, Evaluation& current) override;
  int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                       torch::Tensor& x, Evaluation& current, ops::StepBuffers& counts) override;
  // The host computes a scaled lattice anew at every β, which cannot be captured.
  bool sweeps_capturable() const override { return lattice_ != nullptr; }
  // Return the target's base if the path starts there, and its part of an evaluation in parts.
  EnergyModel* base() override;
  Evaluation base_in(const Evaluation& known) const override;
  void evaluate_on_base(const torch::Tensor& y, bool gradient, Evaluation& out) override;
  // Makes sweeps visit the sites in reverse order, or in their own order again.
  void turn_back(bool back) { back_ = back; }

  const torch::Tensor& beta() const { return beta_; }  // float64 [1] or [B], on the device
  void set_beta(double beta);
  void set_beta(const torch::Tensor& beta);  // has the shape of beta()
  // recombine() updates an evaluation in parts to the current β. recombine_table() updates its
  // gradient or differences alone, for use where beta() has been changed in place and the energies
  // with it.
  void recombine(Evaluation& current) const;
  void recombine_table(Evaluation& current) const;
  // Updates the chains' state, in either form, and what their sampler caches.
  void reevaluate(const Sampler& sampler, ChainState& state);

  // Return U_0 and the target's energy of an evaluation in parts, float64 [B].
  const torch::Tensor& start_energy(const Evaluation& current) const;
  const torch::Tensor& target_energy(const Evaluation& current) const;
  // Returns U_0 − U at the states of an evaluation in parts, float64 [B]; this is −dU_β/dβ.
  torch::Tensor slope(const Evaluation& current) const;

 private:
  class Scaled;  // U_β of a lattice, as a lattice

  // Says which parts an evaluation has, and at which indices the cache holds them.
  struct Parts {
    bool start, gradient, differences;
    bool start_gradient;  // true if ∇U_0 depends on the state

    bool has_start_table() const { return start && (differences || start_gradient); }
    size_t start_energy() const { return gradient || differences ? 2 : 1; }
    size_t start_table() const { return start_energy() + 1; }
    size_t own() const {  // the first index of the target's own cache
      return start_energy() + (start ? 1 : 0) + (has_start_table() ? 1 : 0);
    }
    bool operator==(const Parts&) const = default;
  };

  Parts parts(bool gradient, bool differences) const;
  Parts parts_of(const Evaluation& known) const;
  void evaluate_start(const torch::Tensor& x, const Parts& parts, Evaluation& start) const;
  // Return the parts of target and start in an evaluation, if it has these parts.
  Evaluation target_in(const Evaluation& known, const Parts& parts) const;
  Evaluation start_in(const Evaluation& known, const Parts& parts) const;
  void combine(Evaluation& start, const Evaluation& target, Evaluation& out) const;

  torch::Tensor beta_of_chains(int64_t chains);
  // Computes start + β (target − start), or β·target if start is undefined.
  void mix(torch::Tensor& out, const torch::Tensor& start, const torch::Tensor& target) const;
  void recombine_energy(Evaluation& current) const;

  EnergyModel& target_;
  EnergyModel* start_;  // null if there is none
  // float32 [D] or [D, K]: ∇U_0 of sites with finitely many values, where it is the same at every
  // state; undefined for continuous sites and for a base.
  torch::Tensor start_gradient_;
  torch::Tensor beta_;           // float64
  bool flat_start_;              // true if U_0 is 0 everywhere
  bool starts_at_base_ = false;  // true if U_0 is the target's base
  double target_temperature_;    // T of a target whose energy is U/T
  std::unique_ptr<Scaled> scaled_;
  bool is_lattice_ = false;
  // The target, if its sweeps and steps take one β per chain.
  LatticeModel* lattice_ = nullptr;
  // β repeated for every chain, if beta() is one value.
  ops::Scratch chain_beta_;
  ops::Scratch of_target_, of_start_;  // float64 [B, K]: conditional differences
  // The latest conditional differences, and the sites that they belong to.
  torch::Tensor site_, target_differences_, start_differences_;
  bool back_ = false;
  int64_t difference_calls_ = 1;
};

}  // namespace isinglass
