// Exposes a target distribution as a Python object: a model of the library on its device.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/conditional/restriction.h"
#include "models/energy_model.h"
#include "python/bindings/target_use.h"

namespace isinglass::python {

// Identifies a tensor and its version. If two stamps are equal, the tensor was neither replaced nor
// written to in between, except by writes that do not count as versions, such as those through
// `.data`.
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
  using Join = std::function<ModelPointer(const std::vector<ModelPointer>& models)>;
  // Names the function of this module that made the target, and its arguments, from which pickle
  // makes it again.
  struct Making {
    std::string function;
    py::tuple arguments;
  };

  Target(ModelPointer model, torch::Device device, Making making);
  // Combines other targets. Call with the GIL held.
  Target(std::vector<Pointer> parts, Join join, Making making);

  // Returns the model for chains that are moved step by step.
  EnergyModel& model() const { return *model_; }
  // Returns the model for a whole run, with the tensors that modules have now. Call with the GIL
  // held.
  ModelPointer current();
  // Makes the library's own models in it notice every write to their tensors since the last call,
  // including those that do not count as versions.
  void count_all_writes();
  StateSpace space() const { return model_->space(); }
  // Says what restricts the states of a target that given() made; null for others.
  const std::shared_ptr<const Restriction>& restriction() const { return restriction_; }
  void set_restriction(std::shared_ptr<const Restriction> restriction) {
    restriction_ = std::move(restriction);
  }
  torch::Device device() const { return device_; }

  // Adds the locks of this target and of those that it was made of (target_use.h).
  void add_turns(std::vector<Turn*>& turns);

  // Returns whether it contains a callable, whose energies may change unnoticed.
  bool calls_python() const { return calls_python_; }
  // Returns whether the energies have yet to be checked (inexactness()) in the present modes of the
  // modules, and marks them as checked.
  bool look_at(int64_t modes) { return std::exchange(looked_at_, modes) != modes; }
  // Returns the stamps of the tensors of the library's own models in it, after count_all_writes().
  std::vector<TensorStamp> stamps();
  // Returns the live tensors as a dictionary by their names in the state dict.
  py::dict parameters();

  py::tuple pickled() const;
  static Pointer unpickled(const py::tuple& state);

  int visit(visitproc visit, void* arg) const;
  void clear();

 private:
  Turn turn_;
  ModelPointer model_;
  torch::Device device_;
  std::vector<Pointer> parts_;
  Join join_;
  Making making_;
  std::shared_ptr<const Restriction> restriction_;
  bool calls_python_ = false;
  int64_t looked_at_ = 0;  // Encodes the modes in which the energies were last checked.
  std::vector<torch::Tensor> tensors_;
  // These are copies of the tensors that parameters() has handed out, which the user may write to
  // in any way.
  std::vector<torch::Tensor> copies_;
  std::vector<TensorStamp> copied_;
};

// Returns true if the C++ object of an instance exists. The collector may see an instance before
// its constructor has run. pybind11 has a function for this since 3.0; PyTorch 2.7 brings 2.13.
inline bool is_made(PyObject* self) {
  auto* instance = reinterpret_cast<py::detail::instance*>(self);
  return instance->get_value_and_holder().holder_constructed();
}

// Makes a class that holds Python objects visible to Python's collector of reference cycles.
// T::visit(visit, argument) names every object that an instance holds by a reference of its own,
// once; T::clear() releases them.
template <class T>
py::custom_type_setup collected() {
  return py::custom_type_setup([](PyHeapTypeObject* heap) {
    PyTypeObject& type = heap->ht_type;
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
      Py_VISIT(Py_TYPE(self));
      if (!is_made(self)) return 0;
      return py::cast<const T&>(py::handle(self)).visit(visit, arg);
    };
    type.tp_clear = [](PyObject* self) {
      if (is_made(self)) py::cast<T&>(py::handle(self)).clear();
      return 0;
    };
  });
}

// Holds states given as a tensor or as anything that torch.as_tensor() accepts. Real numbers become
// float32.
struct GivenStates {
  torch::Tensor tensor;
};

// Holds a target given as an argument.
struct GivenTarget {
  Target::Pointer pointer;
};

void add_targets(py::module_& module);

}  // namespace isinglass::python

namespace pybind11::detail {

template <>
struct type_caster<isinglass::python::GivenStates> {
  PYBIND11_TYPE_CASTER(isinglass::python::GivenStates, const_name("torch.Tensor"));
  bool load(handle given, bool convert);  // Throws Error for what holds no numbers.
};

template <>
struct type_caster<isinglass::python::GivenTarget> {
  PYBIND11_TYPE_CASTER(isinglass::python::GivenTarget, const_name("isinglass._isinglass.Target"));
  bool load(handle given, bool convert);  // Throws Error for anything else.
};

}  // namespace pybind11::detail
