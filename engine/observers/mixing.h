// Checks the agreement of chains beyond the statistic that a run reports: R̂ of several statistics,
// and the fraction of steps that changed the state. Both use draws spread over the run, 64 of them
// at most.
//
// Chains may agree on the energy although they are in different modes: a symmetry of the target
// that they never cross leaves the energy unchanged. Acceptance also counts proposals that equal
// the current state.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/observers/gathered_draws.h"
#include "engine/observers/statistic.h"
#include "engine/run/run.h"
#include "io/pt/pt_file.h"

namespace isinglass {

class MixingWatch : public Observer {
 public:
  // chains: the number of chains of all ranks. group: the number of consecutive chains that share a
  // target; 0: all of them.
  MixingWatch(const StateSpace& space, const RunPlan& plan, int64_t chains, torch::Device device,
              const Ranks& ranks = Ranks::single_process(), int64_t group = 0);

  void on_draw(int64_t draw, const ChainState& state) override;
  bool every_step(bool) const override { return false; }
  void on_save() override { on_end(); }
  void on_end() override;

  // saved() returns the values recorded so far, after on_save(); the result of rank 0 counts.
  // restore() is called on all ranks, and throws Error if the values belong to another run.
  PtDict saved() const;
  void restore(const PtDict& saved);

  // Returns R̂ by the name of the statistic, the largest of the groups; on rank 0 only.
  std::vector<std::pair<std::string, double>> rhats() const;
  // Returns the fraction of chains that the step just before a recorded draw moved, averaged over
  // those draws; NaN without a draw.
  double moved() const;

 private:
  struct Watched {
    std::string name;
    Statistic statistic;
    GatheredDraws values;
  };

  int64_t group_, every_, seen_ = 0;
  std::vector<Watched> watched_;  // the last entry records which chains moved
};

}  // namespace isinglass
