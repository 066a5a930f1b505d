// Interface of models whose parameters and buffers belong to an external owner (a Python module),
// which may replace the tensors at any time.
#pragma once

#include "io/pt/pt_file.h"
#include "models/energy_model.h"

namespace isinglass {

class HasLiveState {
 public:
  virtual ~HasLiveState() = default;
  // Returns all tensors as they are now, under all their names. The trained ones come first, in the
  // order of parameters().
  virtual NamedTensors live_state() const = 0;
};

// Returns the model's present parameters and buffers: by live_state() if the model implements it,
// otherwise by named_parameters() and named_buffers().
NamedTensors state_of(const EnergyModel& model);

// Returns every parameter of the model once; a parameter with several names has the first of them.
NamedTensors distinct_parameters(const EnergyModel& model);

}  // namespace isinglass
