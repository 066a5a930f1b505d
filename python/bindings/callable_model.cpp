// Implements energies by Python callables.
#include "python/bindings/callable_model.h"

#include <fmt/ranges.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <unordered_set>

#include "io/error.h"
#include "python/bindings/torch_state_guard.h"

namespace isinglass::python {
namespace {

std::string shape_text(const torch::Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes(), ", "));
}

std::string type_text(const py::object& value) {
  return py::cast<std::string>(py::type::of(value).attr("__name__"));
}

// Returns the module of `root` that holds a tensor such as "net.0.weight", here the child net.0,
// which is created if it does not exist, and the last part of the name. LibTorch does not allow
// dots in names.
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

CallableModel::CallableModel(py::object callable, std::string name, const StateSpace& space,
                             std::optional<Bounds> bounds)
    : callable_(std::move(callable)), name_(std::move(name)), space_(space), bounds_(bounds) {}

CallableModel::~CallableModel() {
  const py::gil_scoped_acquire gil;
  callable_ = py::object();
}

py::object CallableModel::module() const {
  return py::module_::import("isinglass._targets").attr("module_of")(callable_);
}

NamedTensors CallableModel::live_state() const {
  const py::gil_scoped_acquire gil;
  NamedTensors state;
  const py::object owner = module();
  if (owner.is_none()) return state;
  const py::dict tensors = owner.attr("state_dict")(py::arg("keep_vars") = true);
  for (const auto& [name, value] : tensors) {
    if (!THPVariable_Check(value.ptr())) continue;
    state.emplace_back(py::cast<std::string>(name), py::cast<torch::Tensor>(value));
  }
  std::unordered_set<const void*> trained;
  for (const torch::Tensor& tensor : parameters()) trained.insert(tensor.unsafeGetTensorImpl());
  std::stable_partition(state.begin(), state.end(), [&](const auto& entry) {
    return trained.erase(entry.second.unsafeGetTensorImpl()) > 0;
  });
  return state;
}

std::shared_ptr<CallableModel> CallableModel::with_tensors() const {
  auto model = std::make_shared<CallableModel>(callable_, name_, space_, bounds_);
  const py::object owner = module();
  if (owner.is_none()) return model;
  make_lazy_tensors(owner);
  std::unordered_set<const void*> parameters;
  for (const py::handle each : owner.attr("parameters")()) {
    const auto tensor = py::cast<torch::Tensor>(each);
    if (tensor.requires_grad()) parameters.insert(tensor.unsafeGetTensorImpl());
  }
  for (const auto& [key, tensor] : live_state()) {
    const auto [place, name] = place_of(*model, key);
    if (parameters.erase(tensor.unsafeGetTensorImpl()) > 0) {
      place->register_parameter(name, tensor);
    } else {
      place->register_buffer(name, tensor);
    }
  }
  return model;
}

// Parameters without a shape get one from the first call.
void CallableModel::make_lazy_tensors(const py::object& module) const {
  const py::object lazy = py::module_::import("torch.nn.parameter").attr("is_lazy");
  for (const char* kind : {"parameters", "buffers"}) {
    for (const py::handle each : module.attr(kind)()) {
      if (!py::cast<bool>(lazy(each))) continue;
      const torch::Device device = py::cast<torch::Tensor>(each).device();
      torch::Tensor x =
          torch::zeros({2, space_.sites}, torch::device(device).dtype(space_.dtype()));
      if (space_.kind == StateKind::kPermutation) {
        x.copy_(torch::arange(space_.sites, x.options()));
      }
      const torch::NoGradGuard no_grad;
      callable_(relaxed(x));
      return;
    }
  }
}

torch::Tensor CallableModel::energy(const torch::Tensor& x) {
  const torch::Tensor input = relaxed(x);
  torch::Tensor output = call(input);
  // A squeeze() in the callable removes the dimension of a single state.
  if (input.size(0) == 1 && output.dim() == 0) output = output.unsqueeze(0);
  check(input, output);
  return output;
}

// Returns true for KeyboardInterrupt and SystemExit, which a signal may raise in the middle of a
// call, and which no function is expected to catch.
static bool ends_process(const py::error_already_set& error) {
  return !error.matches(PyExc_Exception);
}

// Calls the callable. Energies are functions of the state, so that a call interrupted by Ctrl-C, or
// by another signal, is repeated and the step that needs its result can finish.
torch::Tensor CallableModel::call(const torch::Tensor& input) {
  const py::gil_scoped_acquire gil;
  require(bool(callable_), "the callable of {} no longer exists", name_);
  py::object output;
  try {
    output = callable_(input);
  } catch (py::error_already_set& error) {
    Interrupts* interrupts = Interrupts::current();
    if (!interrupts || !ends_process(error)) throw;
    interrupts->keep(std::move(error));
    output = callable_(input);
  }
  require(THPVariable_Check(output.ptr()),
          "{} returned {}, but a tensor of energies [{}] is needed, one per state", name_,
          type_text(output), input.size(0));
  return py::cast<torch::Tensor>(output);
}

// Runs in Python, where modules keep their buffers. A call interrupted by Ctrl-C is repeated.
torch::Tensor CallableModel::energies_twice(const torch::Tensor& x) const {
  const torch::Tensor input = relaxed(x);
  const py::gil_scoped_acquire gil;
  const py::object computed = py::module_::import("isinglass._targets").attr("energies_twice");
  py::object energies;
  try {
    energies = computed(callable_, input);
  } catch (py::error_already_set& error) {
    Interrupts* interrupts = Interrupts::current();
    if (!interrupts || !ends_process(error)) throw;
    interrupts->keep(std::move(error));
    energies = computed(callable_, input);
  }
  return energies.is_none() ? torch::Tensor() : py::cast<torch::Tensor>(energies);
}

void CallableModel::check(const torch::Tensor& input, const torch::Tensor& output) {
  const int64_t states = input.size(0);
  require(output.dim() == 1 && output.size(0) == states,
          "{} returned shape {} for {} states, but energies of shape [{}] are needed", name_,
          shape_text(output), states, states);
  require(output.scalar_type() == torch::kFloat32 || output.scalar_type() == torch::kFloat64,
          "{} returned energies of type {}; float32 or float64 is needed, because energies decide "
          "acceptance",
          name_, torch::toString(output.scalar_type()));
  require(output.device() == input.device(), "{} returned energies on {}, but the states are on {}",
          name_, output.device().str(), input.device().str());
  require(!input.requires_grad() || !torch::GradMode::is_enabled() || output.requires_grad(),
          "{}'s energies do not depend on the states by differentiable operations", name_);
  if (checked_) return;
  require((output.detach() > -INFINITY).all().item<bool>(),
          "{} returned an energy that is -infinity or not a number; +infinity forbids a state",
          name_);
  checked_ = true;
}

namespace {

constexpr double kRounding =
    1e-3;  // Sums in another order or precision differ by up to this much, relative to the energy.

double largest_difference(const torch::Tensor& one, const torch::Tensor& other) {
  const torch::Tensor difference = (one - other).abs();
  const torch::Tensor beyond = difference > kRounding * (1 + one.abs());
  return beyond.any().item<bool>() ? difference.max().item<double>() : 0;
}

}  // namespace

int64_t modes_of(const EnergyModel& model) {
  int64_t number = 1;
  for (const auto& part : model.modules()) {
    const auto* own = dynamic_cast<const CallableModel*>(part.get());
    if (!own) continue;
    const py::object module = own->module();
    number = 3 * number + (module.is_none() ? 2 : py::cast<bool>(module.attr("training")));
  }
  return number;
}

std::string inexactness(EnergyModel& model, const torch::Tensor& x, torch::Tensor energy) {
  constexpr const char* kSentence =
      "{} gives energies that {}, by up to {:.3g}, so that its chains are not exact for any "
      "target. Layers such as dropout and batch normalisation cause this in train(); eval() turns "
      "it off";
  const torch::NoGradGuard no_grad;
  const auto energies = [&](const torch::Tensor& states) {
    return model.energy(states).detach().to(torch::kFloat64);
  };
  try {
    if (!energy.defined()) energy = energies(x);
    const double again = largest_difference(energy, energies(x));
    if (again > 0) {
      return fmt::format(kSentence, model.title(), "differ between two calls of the same states",
                         again);
    }
    if (x.size(0) < 2) return "";
    const int64_t half = x.size(0) / 2;
    // Both halves: the energies of one may be those of the whole batch by chance, such as where
    // energies are relative to the batch's largest.
    const torch::Tensor halves =
        torch::cat({energies(x.narrow(0, 0, half)), energies(x.narrow(0, half, x.size(0) - half))});
    const double alone = largest_difference(energy, halves);
    if (alone > 0) {
      return fmt::format(kSentence, model.title(), "depend on the other states of a batch", alone);
    }
  } catch (const Error&) {
  } catch (const c10::Error&) {
  } catch (py::error_already_set& error) {
    const py::gil_scoped_acquire gil;
    if (ends_process(error)) throw;
    py::error_already_set(std::move(error));
  }
  return "";
}

}  // namespace isinglass::python
