// A model whose parameters and buffers belong to something outside, which may put other tensors in
// their place at any time: a module of Python.
#pragma once

#include "io/pt/pt_file.h"
#include "models/energy_model.h"

namespace isinglass {

class HasLiveState {
 public:
  virtual ~HasLiveState() = default;
  // Returns all tensors as they are now by all their names, the trained ones first, in the order of
  // parameters().
  virtual NamedTensors live_state() const = 0;
};

// The parameters and buffers of a model as they are now, those of any other model by
// named_parameters() and named_buffers().
NamedTensors state_of(const EnergyModel& model);

// The parameters of a model, each once: one that has several names under the first of them.
NamedTensors distinct_parameters(const EnergyModel& model);

}  // namespace isinglass
