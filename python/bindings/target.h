// A target distribution as Python has it: a model of the library, on its device.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/energy_model.h"

namespace isinglass::python {

// What a tensor is: equal ones have not been replaced or written to in between, but for writes that
// tensors do not count, such as those through `.data`.
struct TensorStamp {
  const void *tensor, *memory;
  int64_t version;

  explicit TensorStamp(const torch::Tensor& of)
      : tensor(of.unsafeGetTensorImpl()),
        memory(of.const_data_ptr()),
        version(of.is_inference() ? 0 : static_cast<int64_t>(of._version())) {}
  bool operator==(const TensorStamp&) const = default;
};

class Target {
 public:
  using Pointer = std::shared_ptr<Target>;
  using ModelPointer = std::shared_ptr<EnergyModel>;
  using Join = ModelPointer (*)(const std::vector<ModelPointer>& models);
  // The function of this module that made it, and its arguments, by which pickle makes it again.
  struct Making {
    std::string function;
    py::tuple arguments;
  };

  Target(ModelPointer model, torch::Device device, Making making);
  // Of other targets. With the GIL.
  Target(std::vector<Pointer> parts, Join join, Making making);

  // The model of chains that are moved step by step.
  EnergyModel& model() const { return *model_; }
  // The model of a whole run, with the tensors that modules have now. With the GIL.
  ModelPointer current() const;
  StateSpace space() const { return model_->space(); }
  torch::Device device() const { return device_; }

  // Whether a callable is in it, whose energies may change in ways that nobody sees.
  bool calls_python() const { return calls_python_; }
  // Whether its energies are still to be looked at (inexactness()) in the modes that its modules are in.
  bool look_at(int64_t modes) { return std::exchange(looked_at_, modes) != modes; }
  // The tensors of the library's own models in it.
  std::vector<TensorStamp> stamps();
  // As a dictionary by the names of the state dict, live.
  py::dict parameters();

  py::tuple pickled() const;
  static Pointer unpickled(const py::tuple& state);

  int visit(visitproc visit, void* arg) const;
  void clear();

 private:
  void count_all_writes();

  ModelPointer model_;
  torch::Device device_;
  std::vector<Pointer> parts_;
  Join join_ = nullptr;
  Making making_;
  bool calls_python_ = false;
  int64_t looked_at_ = 0;  // modes
  std::vector<torch::Tensor> tensors_;
  // Of tensors that were handed out, to which anybody can write in any way.
  std::vector<torch::Tensor> copies_;
  std::vector<TensorStamp> copied_;
};

// Classes that hold objects of Python, as its collector of reference cycles sees them:
// T::visit(visit, argument) names every object that an instance holds by a reference of its own, once;
// T::clear() lets go of them.
template <class T>
py::custom_type_setup collected() {
  return py::custom_type_setup([](PyHeapTypeObject* heap) {
    PyTypeObject& type = heap->ht_type;
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
      Py_VISIT(Py_TYPE(self));
      if (!py::detail::is_holder_constructed(self)) return 0;
      return py::cast<const T&>(py::handle(self)).visit(visit, arg);
    };
    type.tp_clear = [](PyObject* self) {
      if (py::detail::is_holder_constructed(self)) py::cast<T&>(py::handle(self)).clear();
      return 0;
    };
  });
}

// What is given as states: a tensor, or what torch.as_tensor() makes one of. Real numbers are float32 here.
struct GivenStates {
  torch::Tensor tensor;
};

// What is given as a target.
struct GivenTarget {
  Target::Pointer pointer;
};

void add_targets(py::module_& module);

}  // namespace isinglass::python

namespace pybind11::detail {

template <>
struct type_caster<isinglass::python::GivenStates> {
  PYBIND11_TYPE_CASTER(isinglass::python::GivenStates, const_name("torch.Tensor"));
  bool load(handle given, bool convert);  // throws Error for what holds no numbers
};

template <>
struct type_caster<isinglass::python::GivenTarget> {
  PYBIND11_TYPE_CASTER(isinglass::python::GivenTarget, const_name("isinglass._isinglass.Target"));
  bool load(handle given, bool convert);  // throws Error for anything else
};

}  // namespace pybind11::detail
