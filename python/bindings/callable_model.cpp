// See callable_model.h.
#include "python/bindings/callable_model.h"

#include <fmt/ranges.h>
#include <torch/csrc/autograd/python_variable.h>

#include <map>

#include "io/error.h"
#include "python/bindings/guest.h"

namespace isinglass::python {
namespace {

std::string shape_text(const torch::Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes(), ", "));
}

std::string type_text(const py::object& value) {
  return py::cast<std::string>(py::type::of(value).attr("__name__"));
}

// The module that holds "net.0.weight" in `root`: its child net.0, which is made where it is
// missing; and the last part of the name. LibTorch's names have no dots.
std::pair<torch::nn::Module*, std::string> place_of(torch::nn::Module& root,
                                                    const std::string& key) {
  torch::nn::Module* module = &root;
  size_t from = 0;
  for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', from)) {
    const std::string part = key.substr(from, dot - from);
    const auto children = module->named_children();
    const auto* child = children.find(part);
    module = child ? child->get()
                   : module->register_module(part, std::make_shared<torch::nn::Module>(part)).get();
    from = dot + 1;
  }
  return {module, key.substr(from)};
}

}  // namespace

CallableModel::CallableModel(py::object callable, std::string name, const StateSpace& space)
    : callable_(std::move(callable)), name_(std::move(name)), space_(space) {
  adopt_state();
}

CallableModel::~CallableModel() {
  const py::gil_scoped_acquire gil;
  callable_ = py::object();
}

std::shared_ptr<CallableModel> CallableModel::renewed() const {
  return std::make_shared<CallableModel>(callable_, name_, space_);
}

void CallableModel::adopt_state() {
  if (!py::isinstance(callable_, py::module_::import("torch.nn").attr("Module"))) return;
  const py::dict state = callable_.attr("state_dict")(py::arg("keep_vars") = true);
  for (const auto& [key, value] : state) {
    if (!THPVariable_Check(value.ptr())) continue;
    const auto tensor = py::cast<torch::Tensor>(value);
    const auto [module, name] = place_of(*this, py::cast<std::string>(key));
    if (tensor.requires_grad()) {
      module->register_parameter(name, tensor);
    } else {
      module->register_buffer(name, tensor);
    }
  }
}

torch::Tensor CallableModel::energy(const torch::Tensor& x) {
  const torch::Tensor input = relaxed(x);
  torch::Tensor output = call(input);
  if (input.size(0) == 1 && output.dim() == 0) output = output.unsqueeze(0);  // of a squeeze()
  check(input, output);
  return output;
}

// Energies are functions of the state: a call that Ctrl-C breaks off is made again, so that the step
// that needs it can end.
torch::Tensor CallableModel::call(const torch::Tensor& input) {
  const py::gil_scoped_acquire gil;
  const TheirDefault type;
  py::object output;
  try {
    output = callable_(input);
  } catch (py::error_already_set& error) {
    Interrupts* interrupts = Interrupts::current();
    if (!interrupts || !error.matches(PyExc_KeyboardInterrupt)) throw;
    interrupts->keep(std::move(error));
    output = callable_(input);
  }
  require(THPVariable_Check(output.ptr()),
          "{} returned {}; a tensor of energies [{}] is needed, one a state", name_,
          type_text(output), input.size(0));
  return py::cast<torch::Tensor>(output);
}

// In Python, where modules keep their buffers. One that Ctrl-C breaks off is made again.
torch::Tensor CallableModel::energies_twice(const torch::Tensor& x) const {
  const torch::Tensor input = relaxed(x);
  const py::gil_scoped_acquire gil;
  const TheirDefault type;
  const py::object computed = py::module_::import("isinglass._targets").attr("energies_twice");
  py::object energies;
  try {
    energies = computed(callable_, input);
  } catch (py::error_already_set& error) {
    Interrupts* interrupts = Interrupts::current();
    if (!interrupts || !error.matches(PyExc_KeyboardInterrupt)) throw;
    interrupts->keep(std::move(error));
    energies = computed(callable_, input);
  }
  return energies.is_none() ? torch::Tensor() : py::cast<torch::Tensor>(energies);
}

void CallableModel::check(const torch::Tensor& input, const torch::Tensor& output) {
  const int64_t states = input.size(0);
  require(output.dim() == 1 && output.size(0) == states,
          "{} returned shape {} for {} states; energies of shape [{}] are needed", name_,
          shape_text(output), states, states);
  require(output.scalar_type() == torch::kFloat32 || output.scalar_type() == torch::kFloat64,
          "{} returned energies of type {}; float32 or float64 is needed: they decide acceptance",
          name_, torch::toString(output.scalar_type()));
  require(output.device() == input.device(), "{} returned energies on {}, and the states are on {}",
          name_, output.device().str(), input.device().str());
  require(!input.requires_grad() || !torch::GradMode::is_enabled() || output.requires_grad(),
          "{}'s energies do not depend on the states by differentiable operations", name_);
  if (finite_) return;
  require(torch::isfinite(output.detach()).all().item<bool>(),
          "{} returned an energy that is not finite", name_);
  finite_ = true;
}

}  // namespace isinglass::python
