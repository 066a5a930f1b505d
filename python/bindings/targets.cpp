// Targets: from the registry, from files, from instances and from callables. See target.h.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "engine/run/initial_states.h"
#include "io/error.h"
#include "io/pt/state_dict.h"
#include "lab/run/assemble.h"
#include "lab/spec/field.h"
#include "models/combined/other_gradient.h"
#include "models/combined/product.h"
#include "models/instances/instances.h"
#include "models/states.h"
#include "python/bindings/callable_model.h"
#include "python/bindings/guest.h"
#include "python/bindings/target.h"
#include "python/bindings/values.h"

namespace isinglass::python {

Target::Target(std::shared_ptr<EnergyModel> model, torch::Device device)
    : model_(std::move(model)), device_(device) {
  if (dynamic_cast<CallableModel*>(model_.get())) watch();
}

void Target::watch() {
  watched_ = model_->parameters();
}

int64_t Target::changes() const {
  int64_t sum = 0;
  for (const torch::Tensor& tensor : watched_) {
    if (!tensor.is_inference()) sum += static_cast<int64_t>(tensor._version());
  }
  return sum;
}

py::dict Target::parameters() {
  watch();
  py::dict all;
  for (const auto& entry : model_->named_parameters()) all[entry.key().c_str()] = entry.value();
  for (const auto& entry : model_->named_buffers()) all[entry.key().c_str()] = entry.value();
  return all;
}

namespace {

using TargetPointer = std::shared_ptr<Target>;

torch::Device device_named(const py::object& device) {
  if (device.is_none()) return torch::kCPU;
  return device_of(py::cast<std::string>(py::str(device)));
}

// States, in the target's dtype, or their relaxed form. Functorch's wrappers have no memory that
// kernels could read.
torch::Tensor input_of(const EnergyModel& model, const torch::Tensor& x, torch::Device device) {
  const c10::DispatchKeySet keys = x.key_set();
  require(!keys.has(c10::DispatchKey::FuncTorchGradWrapper) &&
              !keys.has(c10::DispatchKey::FuncTorchBatched),
          "transforms of torch.func cannot go through {}, only through the callable itself",
          model.title());
  require(x.device() == device, "x is on {}, and the target on {}", x.device().str(), device.str());
  const StateSpace space = model.space();
  if (!space.discrete() || !x.is_floating_point()) return as_states(space, x, "the states");
  std::vector<int64_t> shape = {space.sites};
  if (space.one_hot()) shape.push_back(space.categories);
  require(x.dim() == std::ssize(shape) + 1 && x.sizes().slice(1) == at::IntArrayRef(shape),
          "x has shape [{}]; relaxed states of this target are [N, {}]", fmt::join(x.sizes(), ", "),
          fmt::join(shape, ", "));
  return x;
}

// As the caller's code is in grad mode or not, so is this.
torch::Tensor energy_of(const Target& target, const torch::Tensor& states) {
  const torch::Tensor x = input_of(target.model(), states, target.device());
  const bool gradients = torch::GradMode::is_enabled();
  const Guest guest;
  const torch::AutoGradMode as_called(gradients);
  return target.model().energy(x);
}

py::tuple energy_and_grad(const Target& target, const torch::Tensor& states) {
  const torch::Tensor x = input_of(target.model(), states, target.device());
  require(target.model().differentiable(), "{} has no gradient", target.model().title());
  EnergyGrad result;
  {
    const Guest guest;
    result = target.model().energy_and_grad(x);
  }
  return py::make_tuple(result.energy, result.gradient);
}

torch::Tensor random(const Target& target, int64_t chains, uint64_t seed) {
  const Guest guest;
  const torch::Tensor ids =
      torch::arange(chains, torch::TensorOptions(torch::kInt64).device(target.device()));
  return random_states(target.space(), ids, seed, target.device());
}

// A state dict, or what a checkpoint holds beside one.
PtValue value_of(const py::handle& object) {
  if (THPVariable_Check(object.ptr())) return {py::cast<torch::Tensor>(object)};
  if (!py::isinstance(object, py::module_::import("collections.abc").attr("Mapping"))) return {};
  PtDict dict;
  for (const auto& [key, value] : py::dict(object.cast<py::object>())) {
    dict.emplace_back(py::str(key).cast<std::string>(), value_of(value));
  }
  return {std::move(dict)};
}

TargetPointer load(const std::string& name, const py::dict& tensors, const py::dict& options,
                   bool continuous, const py::object& device) {
  auto spec = spec_of<EnergySpec>(options, name).model;
  spec.name = name;
  std::optional<NamedTensors> given;
  std::optional<torch::Device> theirs;
  if (!tensors.empty()) given = parameters_in(value_of(tensors), "the parameters");
  for (auto& [key, tensor] : given.value_or(NamedTensors())) {
    if (!theirs) theirs = tensor.device();
  }
  if (given) {
    for (auto& [key, tensor] : *given) tensor = tensor.detach().cpu();
  }
  const torch::Device place = device.is_none() && theirs ? *theirs : device_named(device);
  const Guest guest;
  return std::make_shared<Target>(model_of(spec, place, continuous, std::move(given)), place);
}

TargetPointer instance(const std::string& text, const std::optional<torch::Tensor>& images,
                       const std::optional<torch::Tensor>& labels, const py::object& device) {
  const torch::Device place = device_named(device);
  ImageSource source;
  if (images) source.pixels = [images] { return images->to(torch::kFloat32); };
  if (labels) source.labels = [labels] { return *labels; };
  const Guest guest;
  std::shared_ptr<EnergyModel> model = make_instance(text, source);
  model->to(place);
  return std::make_shared<Target>(std::move(model), place);
}

TargetPointer callable(py::object function, const std::string& name, const std::string& kind,
                       int64_t sites, int64_t categories, const py::object& device) {
  static const std::vector<std::string> kinds = {"binary", "categorical", "ordered", "continuous",
                                                 "permutation"};
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  require_options(found != kinds.end(), "`states` is '{}'; known: {}", kind,
                  fmt::join(kinds, ", "));
  const auto state_kind = static_cast<StateKind>(found - kinds.begin());
  require_options(sites >= 1, "`sites` is {}; at least 1 is needed", sites);
  require_options(categories >= 2 && categories <= 256, "`categories` is {}; 2 to 256 are allowed",
                  categories);
  const StateSpace space{state_kind, sites,
                         state_kind == StateKind::kPermutation ? sites : categories};
  const torch::Device place = device_named(device);
  return std::make_shared<Target>(std::make_shared<CallableModel>(std::move(function), name, space),
                                  place);
}

TargetPointer product(const std::vector<TargetPointer>& factors) {
  require_options(!factors.empty(), "`factors` is empty; at least one target is needed");
  std::vector<std::shared_ptr<EnergyModel>> models;
  for (const TargetPointer& factor : factors) models.push_back(factor->pointer());
  return std::make_shared<Target>(std::make_shared<ProductModel>(std::move(models)),
                                  factors.front()->device());
}

TargetPointer with_gradient_of(const Target& target, const Target& other) {
  return std::make_shared<Target>(
      std::make_shared<OtherGradientModel>(target.pointer(), other.pointer()), target.device());
}

std::string kind_of(const Target& target) {
  static const char* const names[] = {"binary", "categorical", "ordered", "continuous",
                                      "permutation"};
  return names[static_cast<int>(target.space().kind)];
}

std::string text_of(const Target& target) {
  const StateSpace space = target.space();
  const bool valued = space.kind == StateKind::kCategorical || space.kind == StateKind::kOrdered;
  return fmt::format("<isinglass.Target {}: {} {} sites{}, on {}>", target.model().kind_name(),
                     space.sites, kind_of(target),
                     valued ? fmt::format(" of {} values", space.categories) : "",
                     target.device().str());
}

}  // namespace

void add_targets(py::module_& module) {
  py::class_<Target, TargetPointer>(module, "Target", R"(A target distribution π(x) ∝ exp(−U(x)).

States are uint8 [B, D] of discrete sites, float32 [B, D] of continuous ones, int64 [B, D] of
permutations. Their relaxed form, in which gradients are taken, is float32 [B, D], of categorical
sites one-hot [B, D, K]. Made by isinglass.models, load, instance and energy.)")
      .def("energy", &energy_of, py::arg("x"),
           "U(x), a tensor [B], of states or of relaxed states. Differentiable, as any function of "
           "torch is.")
      .def("energy_and_grad", &energy_and_grad, py::arg("x"),
           "U(x), float64 [B], and its gradient in the relaxed state, float32, both detached: what "
           "samplers use.")
      .def("random_states", &random, py::arg("chains"), py::arg("seed") = 0,
           "Where chains begin unless they are told: uniformly random states of that many chains, "
           "of continuous sites standard normal ones.")
      .def("with_gradient_of", &with_gradient_of, py::arg("other"),
           "This target with another one's gradient, by which samplers propose; they accept by "
           "this one's energy, and stay exact for it.")
      .def("parameters", &Target::parameters,
           "The parameters and buffers by their names, live: chains notice what is written to "
           "them.")
      .def_property_readonly(
          "name", [](const Target& t) { return t.model().kind_name(); },
          "The model's name in the registry, or the callable's own.")
      .def_property_readonly("states", &kind_of,
                             "binary, categorical, ordered, continuous or permutation.")
      .def_property_readonly(
          "sites", [](const Target& t) { return t.space().sites; }, "D, the number of sites.")
      .def_property_readonly(
          "categories", [](const Target& t) { return t.space().categories; },
          "K, the number of values of a discrete site.")
      .def_property_readonly(
          "dtype",
          [](const Target& t) {
            return py::reinterpret_borrow<py::object>(
                reinterpret_cast<PyObject*>(torch::getTHPDtype(t.space().dtype())));
          },
          "The type of a state's numbers.")
      .def_property_readonly("device", &Target::device, "Where its parameters and chains are.")
      .def_property_readonly(
          "differentiable", [](const Target& t) { return t.model().differentiable(); },
          "Whether it has a gradient.")
      .def_property_readonly(
          "callable",
          [](const Target& t) -> py::object {
            const auto* own = dynamic_cast<const CallableModel*>(&t.model());
            return own ? own->callable() : py::none();
          },
          "The callable that is its energy; None of a model of the registry.")
      .def("__repr__", &text_of);
  module.def("load", &load);
  module.def("instance", &instance);
  module.def("callable", &callable);
  module.def("product", &product);
}

}  // namespace isinglass::python
