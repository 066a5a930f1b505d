// Exposes the chains of a sampler on a target as a Python object, with everything that changes from
// step to step.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <atomic>
#include <memory>
#include <vector>

#include "engine/sampler.h"
#include "lab/spec/spec.h"
#include "python/bindings/target.h"

namespace isinglass::python {

class State {
 public:
  // Starts chains at x. Call with the GIL held; it is released while the target is called.
  State(py::object target, SamplerSpec spec, const torch::Tensor& x, const torch::Tensor& ids,
        uint64_t seed, int64_t step);

  Target& target() const { return *target_; }
  const py::object& target_object() const { return target_object_; }
  // Returns a sentence if the target's energies are not a function of each state alone; empty if
  // they are or were not checked.
  const std::string& inexactness() const { return inexactness_; }
  const Sampler& sampler() const { return *sampler_; }
  const ChainState& chains() const { return chains_; }
  const std::string& sampler_name() const { return resolved_.name; }
  int64_t steps() const { return steps_; }
  // Returns the number of the next step in random draws.
  int64_t next_step() const { return first_step_ + steps_; }
  int64_t evaluations() const { return evaluations_; }
  py::dict scale() const;  // Returns the numbers of a step, which belong to the state.

  // Gives one caller the exclusive use of the state for a scope, without the GIL. Throws Error if
  // another scope has it.
  class Use {
   public:
    explicit Use(State& state);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    // Updates the energies if the target or the states have changed. `unchanged` promises that
    // neither has changed, so that the target is not called for the check.
    void follow(bool unchanged);
    void renew();
    // steps() makes n steps. burn_in_step() makes step t of `total` steps of burn-in.
    StepInfo steps(int64_t n);
    StepInfo burn_in_step(int64_t t, int64_t total);

   private:
    StepInfo made(const StepInfo& info, int64_t steps);

    State& state_;
  };

  // Returns all that the next step depends on, besides target and options: numbers, texts, and
  // copies of tensors by name.
  py::dict state_dict() const;
  // Copies the tensors of such a dictionary into this state's, which has to have the same sampler,
  // options and numbers of chains and sites. If the target's parameters are others than the
  // dictionary's, the energies are computed again. Throws Error, and changes nothing, if the
  // dictionary does not fit.
  void load_state_dict(const py::dict& saved);

  py::tuple pickled() const;
  static std::shared_ptr<State> unpickled(const py::tuple& state);

  int visit(visitproc visit, void* arg) const;
  void clear() { target_object_ = py::none(); }

 private:
  py::object target_object_;
  Target::Pointer target_;  // Points to the target in target_object_.
  SamplerSpec spec_,
      resolved_;  // They hold the given spec, and the one with defaults on this target.
  std::shared_ptr<Sampler> sampler_;
  std::string inexactness_;
  ChainState chains_;
  StepParams params_;
  // These stamp the target's tensors and x at the time when the energies were computed.
  std::vector<TensorStamp> tensors_, states_;
  int64_t first_step_ = 0, steps_ = 0, evaluations_ = 0;
  std::atomic<bool> used_ = false;
};

}  // namespace isinglass::python
