// Agreement of chains beyond the statistic that a run is about: R̂ of several statistics, at draws
// that are spread over the run, at most 64 of them, and the share of steps that changed the
// state.
//
// Chains may agree on the energy and be in different modes: a symmetry of the target that they
// never pass leaves the energy as it is. Acceptance counts proposals that are the state itself.
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
  // chains: of all ranks.
  MixingWatch(const StateSpace& space, const RunPlan& plan, int64_t chains, torch::Device device,
              const Ranks& ranks = Ranks::alone());

  void on_draw(int64_t draw, const ChainState& state) override;
  bool every_step(bool) const override { return false; }
  void on_save() override { on_end(); }
  void on_end() override;

  // What has been seen so far, for a file, after on_save(); it counts on rank 0. And back, on all
  // ranks. Throws Error if it is of another run.
  PtDict saved() const;
  void restore(const PtDict& saved);

  // On rank 0, by the statistics' names.
  std::vector<std::pair<std::string, double>> rhats() const;
  // The share of the steps before those draws, over all chains; NaN without a draw.
  double moved() const;

 private:
  struct Watched {
    std::string name;
    Statistic statistic;
    GatheredDraws values;
  };

  int64_t every_, seen_ = 0;
  std::vector<Watched> watched_;  // the last one: which chains moved
};

}  // namespace isinglass
