// Who watches a run. Observers own every side effect (files, progress, clocks); samplers have none.
#pragma once

#include "engine/chain_state.h"

namespace isinglass {

// The energies of what they see are those of acceptance; U is Evaluation::untempered().
class Observer {
 public:
  virtual ~Observer() = default;
  // After a step; where nobody wants every one, after the last of some that are taken at once.
  virtual void on_step(int64_t step, bool burn_in, const ChainState& state) {}
  // Whether on_step() must see all steps of burn-in, or of the run after it.
  virtual bool every_step(bool burn_in) const { return true; }
  virtual void on_sampling_start() {}                             // burn-in is over
  virtual void on_draw(int64_t draw, const ChainState& state) {}  // after every thin-th kept step
  virtual void on_save() {}  // what it keeps is about to be saved
  virtual void on_end() {}   // of the run, stopped or not
};

}  // namespace isinglass
