// Non-reversible parallel tempering of any sampler (docs/concepts/tempering.md; Syed,
// Bouchard-Côté, Deligiannidis & Doucet, JRSS B 2022; kernels/tempering/swap.h).
//
// A chain of this sampler is an ensemble of R states, one on each rung β_0 = 0 < … < β_{R−1} = 1 of
// a path U_β from U_0 to U (ladder_path.h). A step is a scan:
//
//   1. `exploration` steps of the local sampler on all rungs, as one batch of C·R states
//   2. exact draws from exp(−U_0) on rung 0, in every second scan, in which rung 0 swaps. They are
//      omitted if a local step on rung 0 is such a draw, if the ladder begins above β = 0, and if
//      U_0 is a base, whose moves are then among the local steps (engine/samplers/base_moves.h)
//   3. one round of swaps
//
// A scan leaves Π_i exp(−U_{β_i}) invariant. The chain's state is the one at β = 1, its acceptance
// and number of changed sites are those of that rung, and its energy is U.
//
// Three things adapt in burn-in. The β adapt to equal rejection rates, in rounds of 1, 2, 4, …
// scans, during its first three quarters. The scales adapt to the local sampler's target
// acceptance, on every rung; rung 0 of a ladder from β = 0 takes the scale of β = 1 instead. The
// number of rungs, if it is not given, adapts to the barrier in the first half of burn-in.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/annealing/factorised.h"
#include "engine/annealing/path.h"
#include "engine/sampler.h"
#include "engine/tempering/bennett.h"
#include "io/pt/pt_file.h"

namespace isinglass {

struct TemperingOptions {
  std::optional<int64_t> rungs = {};  // R ≥ 2; nullopt: as many as the barrier requires
  int64_t most_rungs = 1000;          // the largest number of rungs
  int64_t exploration = 1;            // local steps per scan
  // β_0, below 1. A ladder with β_0 above 0 has no exact draws and no log Z.
  double lowest = 0;
  // Scans planned after burn-in; the draws for log Z are spread over them.
  int64_t scans = 0;
  PathKind path = PathKind::kLinear;
  // On a GPU, captures the local steps of burn-in in a CUDA graph if sampler and model allow it
  // (engine/run/step_graph.h). Whoever makes the later scans may capture these as a whole.
  bool cuda_graph = false;
};

// Results from the scans since burn-in.
struct TemperingReport {
  int64_t scans = 0;
  std::vector<double> betas;
  std::vector<double> rejection;                  // mean of 1 − α for each pair of rungs
  std::vector<double> acceptance;                 // mean over the local steps on each rung
  std::vector<std::vector<double>> scales;        // [R][n]
  double barrier = 0;                             // Λ
  double round_trips = 0;                         // mean over ensembles
  double round_trip_rate = 0, round_trip_se = 0;  // per scan of one ensemble
  double predicted_rate = 0, best_rate = 0;       // round trips per scan (schedule.h)
  // int16 [H, R]: the rungs of the first ensemble's replicas in the last H scans.
  torch::Tensor history;
  // Log Z of the target; NaN if the ladder begins above β = 0.
  LogZ log_z = {};
};

class ParallelTempering : public Sampler, public HasWarmup {
 public:
  // local: a sampler made for the model of the target's ladder path (ladder_path.h). The target
  // must outlive this object. Throws Error if the local sampler cannot be tempered, or a number is
  // out of range.
  ParallelTempering(EnergyModel& target, std::unique_ptr<Sampler> local, Factorised reference,
                    TemperingOptions options);

  // model must be the target.
  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  StepInfo burn_in_step(EnergyModel& model, ChainState& state, StepParams& params, int64_t t,
                        int64_t total, const Ranks& ranks = Ranks::single_process()) const override;
  const HasWarmup* warmup() const override { return this; }
  bool saves_warmup() const override { return true; }
  Adaptation adaptation(const ChainState& state, const StepParams& params,
                        const BurnIn& burn_in) const override;
  bool needs_host_sync() const override { return local_->needs_host_sync(); }
  Needs needs() const override { return Needs::kEnergy; }
  bool exact() const override { return local_->exact(); }
  bool is_metropolis() const override { return local_->is_metropolis(); }
  const Sampler& local() const { return *local_; }

  // Returns `betas` [R] and `scales` [R, n].
  NamedTensors learned(const ChainState& state) const override;
  void restore(ChainState& state, const NamedTensors& learned) const override;

  TemperingReport report(const ChainState& state, const StepParams& params,
                         const Ranks& ranks = Ranks::single_process()) const;

  // All ranks call these together. saved() returns everything about the chains of `state`, their
  // rungs and what was counted, so that another run continues with the same bits, on the same or
  // another number of ranks. restore_saved() takes this rank's chains after init(). Throws Error if
  // the data belong to other ensembles.
  PtDict saved(const ChainState& state, const StepParams& params,
               const Ranks& ranks = Ranks::single_process()) const;
  void restore_saved(ChainState& state, StepParams& params, const PtDict& saved,
                     const Ranks& ranks = Ranks::single_process()) const;

  // Return and set the states on all rungs, [C, R, D], in the order of rungs.
  torch::Tensor rung_states(const ChainState& state) const;
  void set_rung_states(ChainState& state, const torch::Tensor& x) const;

 protected:
  void prepare(const EnergyModel& model, ChainState& state) const override;

 private:
  void require_target(const EnergyModel& model) const;
  struct Scratch;
  static Scratch& scratch_of(const ChainState& state);

  void build(ChainState& state, const torch::Tensor& x, const std::vector<double>& betas,
             const torch::Tensor& scales, int64_t step) const;
  StepInfo finish_scan(ChainState& state, StepParams& params, StepInfo local) const;
  void place(Scratch& s) const;
  void adapt_scales(Scratch& s, int64_t step, const Ranks& ranks) const;
  void end_round(ChainState& state, int64_t scans, bool may_change_rungs, const Ranks& ranks) const;
  void begin_counting(ChainState& state, int64_t step) const;

  EnergyModel& target_;
  std::unique_ptr<Sampler> local_;
  Factorised reference_;
  TemperingOptions options_;
};

}  // namespace isinglass
