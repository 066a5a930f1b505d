// Any Python callable as an energy: float32 [B, D], of categorical sites one-hot [B, D, K], to
// energies [B] in float32 or float64. The gradient in the state is autograd's.
//
// The GIL is held while the callable runs, and at no other time. What it raises arrives as it is. An
// output of another shape or type, one that is not finite at first, or that does not depend on the
// state by differentiable operations is an Error that begins with the callable's name.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <string>
#include <vector>

#include "models/identity.h"
#include "models/live_state.h"

namespace isinglass::python {

class CallableModel : public EnergyModel, public OwnFunction, public HasLiveState {
 public:
  // With the GIL.
  CallableModel(py::object callable, std::string name, const StateSpace& space);
  ~CallableModel() override;

  std::string kind_name() const override { return name_; }
  std::string title() const override { return "energy " + name_; }
  StateSpace space() const override { return space_; }
  bool capturable() const override { return false; }  // who knows what it does
  torch::Tensor energy(const torch::Tensor& x) override;
  torch::Tensor energies_twice(const torch::Tensor& x) const override;

  const py::object& callable() const { return callable_; }
  py::object module() const;  // who is called, or whose method; None of other callables
  void forget() { callable_ = py::object(); }  // the callable, which cannot be called any more

  // The state dict of the module whose method, or who itself, is called; nothing of other callables.
  NamedTensors live_state() const override;

  // With the GIL. The same with the tensors that the module has now as its own, under the names of the
  // state dict: as parameters those of the module that need gradients, each once, which training changes
  // in place; all others as buffers. A lazy module is called once before.
  std::shared_ptr<CallableModel> with_tensors() const;

 private:
  torch::Tensor call(const torch::Tensor& input);
  void check(const torch::Tensor& input, const torch::Tensor& output);
  void make_lazy_tensors(const py::object& module) const;

  py::object callable_;
  std::string name_;
  StateSpace space_;
  bool finite_ = false;  // its first output was
};

// A sentence if the energies of the states x differ from those of another call, as with dropout, or with fewer
// states beside them, as with batch normalisation: no sampler is exact for such a model. Empty if neither is
// so, or if it cannot be found out. `energy` is that of x, or undefined. Without the GIL.
std::string inexactness(EnergyModel& model, const torch::Tensor& x, torch::Tensor energy = {});

// A number that tells in which modes, train() or eval(), the modules of the callables in a model are. With the GIL.
int64_t modes_of(const EnergyModel& model);

}  // namespace isinglass::python
