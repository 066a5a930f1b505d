// The interface of observers of a run. All side effects (files, progress, clocks) belong to
// observers; samplers have none.
#pragma once

#include "engine/chain_state.h"

namespace isinglass {

// In an observed state, `energy` is the one used for acceptance; U is Evaluation::untempered().
class Observer {
 public:
  virtual ~Observer() = default;
  // Called after a step. If no observer wants every step, it is called after the last one of
  // several steps that are made together.
  virtual void on_step(int64_t step, bool burn_in, const ChainState& state) {}
  // Returns true if on_step() must see all steps of burn-in, or all steps after it.
  virtual bool every_step(bool burn_in) const { return true; }
  virtual void on_sampling_start() {}  // called when burn-in is over
  // Called after every thin-th kept step.
  virtual void on_draw(int64_t draw, const ChainState& state) {}
  virtual void on_save() {}  // called before the observer's data are saved
  virtual void on_end() {}   // called at the end of the run, stopped or not
};

}  // namespace isinglass
