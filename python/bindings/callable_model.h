// Wraps any Python callable as an energy model. It maps float32 [B, D], or one-hot [B, D, K] for
// categorical sites, to energies [B] in float32 or float64. The gradient with respect to the state
// is autograd's.
//
// The GIL is held only while the callable runs. Exceptions of the callable pass through unchanged.
// An output of another shape or type, a first output that is not finite, and an output that does
// not depend on the state by differentiable operations raise an Error that begins with the
// callable's name.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <string>
#include <vector>

#include "models/bounds.h"
#include "models/identity.h"
#include "models/live_state.h"

namespace isinglass::python {

class CallableModel : public EnergyModel,
                      public OwnFunction,
                      public HasLiveState,
                      public HasBounds {
 public:
  // Call with the GIL held.
  CallableModel(py::object callable, std::string name, const StateSpace& space,
                std::optional<Bounds> bounds = {});
  ~CallableModel() override;

  std::string kind_name() const override { return name_; }
  std::string title() const override { return "energy " + name_; }
  StateSpace space() const override { return space_; }
  std::optional<Bounds> bounds() const override { return bounds_; }
  bool capturable() const override { return false; }  // The callable may do anything.
  torch::Tensor energy(const torch::Tensor& x) override;
  torch::Tensor energies_twice(const torch::Tensor& x) const override;

  const py::object& callable() const { return callable_; }
  // Returns the module that is called, or whose method is called; None for other callables.
  py::object module() const;
  // Drops the callable, which can no longer be called.
  void forget() { callable_ = py::object(); }

  // Returns the state dict of the module that is called, or whose method is called; empty for other
  // callables.
  NamedTensors live_state() const override;

  // Returns the same model with the module's present tensors registered under the names of the
  // state dict. Parameters of the module that need gradients become parameters, each once, and
  // training changes them in place; all other tensors become buffers. A lazy module is called once
  // before that. Call with the GIL held.
  std::shared_ptr<CallableModel> with_tensors() const;

 private:
  torch::Tensor call(const torch::Tensor& input);
  void check(const torch::Tensor& input, const torch::Tensor& output);
  void make_lazy_tensors(const py::object& module) const;

  py::object callable_;
  std::string name_;
  StateSpace space_;
  std::optional<Bounds> bounds_;
  bool checked_ = false;  // Tells whether the values of the first output were checked.
};

// Returns a sentence if the energies of the states x differ between two calls, as with dropout, or
// depend on the other states of the batch, as with batch normalisation; no sampler is exact for
// such a model. Returns an empty text if neither is the case or if it cannot be determined.
// `energy` is that of x, or undefined. Call without the GIL.
std::string inexactness(EnergyModel& model, const torch::Tensor& x, torch::Tensor energy = {});

// Returns a number that encodes the modes, train() or eval(), of the modules of all callables in a
// model. Call with the GIL held.
int64_t modes_of(const EnergyModel& model);

}  // namespace isinglass::python
