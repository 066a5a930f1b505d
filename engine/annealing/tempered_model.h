// A model at inverse temperature β, one for all chains or one a chain:
//
//   U_β = U_0 + β·(U − U_0)   the path of annealing from a factorised distribution U_0; where the
//                             model carries the base distribution itself (U = U_net + U_base,
//                             U_0 = U_base) this is U_base + β·U_net
//   U_β = β·U                 without one: cooling, β = 1/T
//
// It has one of two forms.
//   parts    The parts (U, U_0, and ∇U or the differences of both) of every state stay in its cache
//            and behind them what the model itself keeps there: a change of β costs no model call.
//            Conditionals are those of the parts; a lattice has sweeps and, where U_0 is uniform or
//            there is none, local steps and a β a chain.
//   lattice  β·U of a lattice is a lattice, of couplings and fields times β: samplers see that, and
//            local steps stay local. A change of β costs an evaluation. Of one β, without a start.
//
// Evaluation::target is U: always in parts, and of a lattice once the evaluation is settled. Where
// U_0 or U is infinite, U_β is U_0 at β = 0 and U at β = 1 (kernels/tempering/mixture.h).
#pragma once

#include <memory>

#include "engine/annealing/factorised.h"
#include "engine/sampler.h"
#include "kernels/ops/scratch.h"
#include "models/energy_model.h"

namespace isinglass {

class TemperedModel : public EnergyModel,
                      public HasConditionals,
                      public HasEnergyDifferences,
                      public HasSweeps {
 public:
  // Which form a lattice without a start takes; other models have parts.
  enum class Form { kParts, kLattice };

  // Target and start (null: none) outlive this object. betas: how many there are, 1 or one a chain;
  // they begin at 0 with a start and at 1 without.
  TemperedModel(EnergyModel& target, const Factorised* start, torch::Device device,
                Form form = Form::kParts, int64_t betas = 1);
  ~TemperedModel() override;

  std::string kind_name() const override { return target_.kind_name(); }
  std::string title() const override;
  StateSpace space() const override { return target_.space(); }
  bool differentiable() const override { return target_.differentiable(); }
  bool capturable() const override { return target_.capturable(); }
  bool reads_parameters_in_place() const override { return target_.reads_parameters_in_place(); }

  torch::Tensor energy(const torch::Tensor& x) override;
  void evaluate_energy(const torch::Tensor& x, Evaluation& out) override;
  void evaluate(const torch::Tensor& x, Evaluation& out) override;
  void evaluate_moved(const torch::Tensor& x, const Evaluation& at_x, const torch::Tensor& y,
                      bool gradient, Evaluation& out) override;
  void evaluate_differences(const torch::Tensor& x, Evaluation& out) override;
  int64_t difference_calls() const override { return difference_calls_; }  // the target's
  void settle(const torch::Tensor& x, Evaluation& current) override;

  HasConditionals* conditionals() override;
  HasSweeps* sweeps() override;
  HasEnergyDifferences* exact_differences() override;
  LatticeModel* as_lattice() override;
  LocalSteps local_steps(Evaluation& current) override;
  void follow_local_steps(Evaluation& current) override;
  void conditional_differences(const torch::Tensor& x, const torch::Tensor& site,
                               torch::Tensor& out) override;
  void follow(const torch::Tensor& x, Evaluation& current) override;
  int64_t gibbs_sweeps(int64_t steps, const torch::Tensor& rng, const torch::Tensor& chain_ids,
                       torch::Tensor& x, Evaluation& current, ops::StepBuffers& counts) override;
  // A scaled lattice is made by the host at every β.
  bool sweeps_capturable() const override { return lattice_ != nullptr; }
  // Lets sweeps take the last sites first, or again the first ones.
  void turn_back(bool back) { back_ = back; }

  const torch::Tensor& beta() const { return beta_; }  // float64 [1] or [B], on the device
  void set_beta(double beta);
  void set_beta(const torch::Tensor& beta);  // like beta()
  // An evaluation in parts at the β that there is now; its gradient or differences alone, where β
  // has changed in place, in beta(), and the energies with it.
  void recombine(Evaluation& current) const;
  void recombine_table(Evaluation& current) const;
  // In either form the chains' state, with what their sampler keeps.
  void renew(const Sampler& sampler, ChainState& state);

  // U_0 of an evaluation in parts, float64 [B]; its U is the evaluation's target.
  const torch::Tensor& start_energy(const Evaluation& current) const;
  // U_0 − U at the states of an evaluation in parts, float64 [B]: −dU_β/dβ.
  torch::Tensor slope(const Evaluation& current) const;

 private:
  class Scaled;  // U_β of a lattice

  // What an evaluation has, and where its cache holds that.
  struct Parts {
    bool start, gradient, differences;
    bool start_gradient;  // that differs from state to state

    bool has_start_table() const { return start && (differences || start_gradient); }
    size_t start_energy() const { return gradient || differences ? 2 : 1; }
    size_t start_table() const { return start_energy() + 1; }
    size_t own() const {  // what the target itself keeps
      return start_energy() + (start ? 1 : 0) + (has_start_table() ? 1 : 0);
    }
    bool operator==(const Parts&) const = default;
  };

  Parts parts(bool gradient, bool differences) const;
  Parts parts_of(const Evaluation& known) const;
  void evaluate_start(const torch::Tensor& x, const Parts& parts, Evaluation& start) const;
  // What the evaluation knows of target and start, if it has such parts.
  Evaluation target_in(const Evaluation& known, const Parts& parts) const;
  Evaluation start_in(const Evaluation& known, const Parts& parts) const;
  void combine(const Evaluation& start, const Evaluation& target, Evaluation& out) const;

  torch::Tensor beta_of_chains(int64_t chains);
  // start + β (target − start), or β·target where start is undefined.
  void mix(torch::Tensor& out, const torch::Tensor& start, const torch::Tensor& target) const;
  void recombine_energy(Evaluation& current) const;

  EnergyModel& target_;
  EnergyModel* start_;  // null: none
  // float32 [D] or [D, K]: ∇U_0, of sites with finitely many values the same everywhere; of
  // continuous ones undefined
  torch::Tensor start_gradient_;
  torch::Tensor beta_;  // float64
  bool flat_start_;     // U_0 is 0 everywhere
  std::unique_ptr<Scaled> scaled_;
  bool is_lattice_ = false;
  LatticeModel* lattice_ = nullptr;    // the target, where sweeps and steps take a β a chain
  ops::Scratch chain_beta_;            // beta(), one a chain, where it is one for all
  ops::Scratch of_target_, of_start_;  // float64 [B, K]: conditional differences
  torch::Tensor site_, target_differences_, start_differences_;  // the latest, and where they are
  bool back_ = false;
  int64_t difference_calls_ = 1;
};

}  // namespace isinglass
