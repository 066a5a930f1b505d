// Non-reversible parallel tempering of any sampler (docs/concepts/tempering.md; Syed,
// Bouchard-Côté, Deligiannidis & Doucet, JRSS B 2022; kernels/tempering/swap.h).
//
// A chain of this sampler is an ensemble: R states, one on each rung β_0 = 0 < … < β_{R−1} = 1 of a
// path U_β from U_0 to U (ladder_path.h). A step is a scan:
//
//   1. `exploration` steps of the local sampler on all rungs, C·R states in one batch
//   2. rung 0: exact draws from exp(−U_0), in every second scan, when it swaps, where a local step
//      there is no such draw
//   3. one round of swaps
//
// and leaves Π_i exp(−U_{β_i}) invariant. A ladder that begins above β = 0 goes without 2. The chain's state is that at β = 1, its acceptance and
// hops are that rung's, its energy is U.
//
// In burn-in β adapts to equal rejection rates in rounds of 1, 2, 4, … scans up to three quarters
// of it, scales to the local sampler's acceptance on every rung, and the number of rungs, where it is
// asked for, to the barrier in the first half.
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
  std::optional<int64_t> rungs = {};  // R ≥ 2; none: as many as the barrier asks for
  int64_t most_rungs = 1000;          // of those found
  int64_t exploration = 1;            // local steps a scan
  double lowest = 0;                  // β_0 < 1; above 0 the ladder has no exact draws and no log Z
  int64_t scans = 0;  // planned after burn-in: those that log Z takes draws of spread over them
  PathKind path = PathKind::kLinear;
  // On a GPU, whether the local steps of burn-in are captured where sampler and model allow it
  // (engine/run/step_graph.h); later scans are captured whole, by whoever makes them.
  bool cuda_graph = false;
};

// Of the scans since burn-in.
struct TemperingReport {
  int64_t scans = 0;
  std::vector<double> betas;
  std::vector<double> rejection;                  // mean 1 − α of each pair of rungs
  std::vector<double> acceptance;                 // of the local steps on each rung
  std::vector<std::vector<double>> scales;        // [R][n]
  double barrier = 0;                             // Λ
  double round_trips = 0;                         // a mean over ensembles
  double round_trip_rate = 0, round_trip_se = 0;  // per scan of one ensemble
  double predicted_rate = 0, best_rate = 0;       // schedule.h
  torch::Tensor
      history;      // int16 [H, R]: rungs of the replicas of the first ensemble, the last scans
  LogZ log_z = {};  // of the target; NaN of a ladder that begins above β = 0
};

class ParallelTempering : public Sampler {
 public:
  // The local sampler is made for the model of a ladder_path.h of the target, which outlives this.
  // Throws Error for a local sampler that cannot be tempered, and numbers out of range.
  ParallelTempering(EnergyModel& target, std::unique_ptr<Sampler> local, Factorised reference,
                    TemperingOptions options);

  // model: the target.
  StepInfo step(EnergyModel& model, ChainState& state, StepParams& params) const override;
  StepInfo burn_in_step(EnergyModel& model, ChainState& state, StepParams& params, int64_t t,
                        int64_t total, const Ranks& ranks = Ranks::alone()) const override;
  bool learns() const override { return true; }
  std::optional<Adaptation> adaptation(const ChainState& state, const StepParams& params,
                                       const BurnIn& burn_in) const override;
  bool asks_device() const override { return local_->asks_device(); }
  Needs needs() const override { return Needs::kEnergy; }
  bool exact() const override { return local_->exact(); }
  bool proposes() const override { return local_->proposes(); }
  const Sampler& local() const { return *local_; }

  // `betas` [R] and `scales` [R, n].
  NamedTensors learned(const ChainState& state) const override;
  void restore(ChainState& state, const NamedTensors& learned) const override;

  TemperingReport report(const ChainState& state, const StepParams& params,
                         const Ranks& ranks = Ranks::alone()) const;

  // By all ranks together: all that the chains of `state` are, where they stand and what was counted,
  // so that they go on in another run as in this one, on as many ranks or another number of them;
  // state: the rank's chains after init(). Throws Error if it is of other ensembles.
  PtDict saved(const ChainState& state, const StepParams& params,
               const Ranks& ranks = Ranks::alone()) const;
  void restore_saved(ChainState& state, StepParams& params, const PtDict& saved,
                     const Ranks& ranks = Ranks::alone()) const;

  // The states on all rungs, [C, R, D], rung by rung, and a way to set them.
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
