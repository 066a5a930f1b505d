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

#include "models/energy_model.h"
#include "models/identity.h"

namespace isinglass::python {

class CallableModel : public EnergyModel, public OwnFunction {
 public:
  // With the GIL. A torch.nn.Module's parameters and buffers become this model's, under the names of
  // its state dict: those that need gradients are what training changes, in place.
  CallableModel(py::object callable, std::string name, const StateSpace& space);
  ~CallableModel() override;

  std::string kind_name() const override { return name_; }
  std::string title() const override { return "energy " + name_; }
  StateSpace space() const override { return space_; }
  bool capturable() const override { return false; }  // who knows what it does
  torch::Tensor energy(const torch::Tensor& x) override;
  torch::Tensor energies_twice(const torch::Tensor& x) const override;

  const py::object& callable() const { return callable_; }
  // The same of the module's present parameters, which may be other tensors than before.
  std::shared_ptr<CallableModel> renewed() const;

 private:
  torch::Tensor call(const torch::Tensor& input);
  void check(const torch::Tensor& input, const torch::Tensor& output);
  void adopt_state();

  py::object callable_;
  std::string name_;
  StateSpace space_;
  bool finite_ = false;  // its first output was
};

}  // namespace isinglass::python
