// Implements what targets do, and their interface in Python.
#include "python/bindings/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <cmath>

#include "engine/run/initial_states.h"
#include "io/error.h"
#include "models/states.h"
#include "python/bindings/callable_model.h"
#include "python/bindings/data.h"
#include "python/bindings/making.h"
#include "python/bindings/torch_state_guard.h"
#include "python/bindings/values.h"

namespace isinglass::python {

Target::Target(ModelPointer model, torch::Device device, Making making)
    : model_(std::move(model)), device_(device), making_(std::move(making)) {
  for (const auto& part : model_->modules()) {
    calls_python_ |= dynamic_cast<const CallableModel*>(part.get()) != nullptr;
  }
  tensors_ = model_->parameters();
  for (const torch::Tensor& buffer : model_->buffers()) tensors_.push_back(buffer);
}

Target::Target(std::vector<Pointer> parts, Join join, Making making)
    : Target(
          [&] {
            std::vector<ModelPointer> models;
            for (const Pointer& part : parts) models.push_back(part->model_);
            return join(models);
          }(),
          parts.front()->device(), std::move(making)) {
  parts_ = std::move(parts);
  join_ = std::move(join);
}

void Target::add_turns(std::vector<Turn*>& turns) {
  turns.push_back(&turn_);
  for (const Pointer& part : parts_) part->add_turns(turns);
}

Target::ModelPointer Target::current() {
  count_all_writes();
  if (const auto* own = dynamic_cast<const CallableModel*>(model_.get())) {
    return own->with_tensors();
  }
  if (!calls_python_) return model_;
  std::vector<ModelPointer> models;
  for (const Pointer& part : parts_) models.push_back(part->current());
  return join_(models);
}

std::vector<TensorStamp> Target::stamps() {
  count_all_writes();
  return {tensors_.begin(), tensors_.end()};
}

// Bumps the version of tensors whose contents have changed unnoticed, as models decide by versions
// when to update what they have computed from parameters.
void Target::count_all_writes() {
  for (const Pointer& part : parts_) part->count_all_writes();
  for (size_t i = 0; i < copies_.size(); ++i) {
    const torch::Tensor& tensor = tensors_[i];
    if (copied_[i] == TensorStamp(tensor)) {
      if (copies_[i].equal(tensor)) continue;
      tensor.unsafeGetTensorImpl()->bump_version();
    }
    copies_[i] = tensor.detach().clone();
    copied_[i] = TensorStamp(tensor);
  }
}

py::dict Target::parameters() {
  py::dict all;
  for (const auto& [name, tensor] : state_of(*current())) all[name.c_str()] = tensor;
  if (copies_.empty()) {
    for (const torch::Tensor& tensor : tensors_) copies_.push_back(tensor.detach().clone());
    for (const torch::Tensor& tensor : tensors_) copied_.emplace_back(tensor);
  }
  return all;
}

int Target::visit(visitproc visit, void* arg) const {
  Py_VISIT(making_.arguments.ptr());
  if (const auto* own = dynamic_cast<const CallableModel*>(model_.get())) {
    Py_VISIT(own->callable().ptr());
  }
  return 0;
}

void Target::clear() {
  making_.arguments = py::tuple();
  if (auto* own = dynamic_cast<CallableModel*>(model_.get())) own->forget();
}

namespace {

// Returns states in the target's dtype, or their relaxed form. Tensors wrapped by functorch are
// refused, as they have no memory that kernels could read.
torch::Tensor input_of(const EnergyModel& model, const torch::Tensor& x, torch::Device device) {
  const c10::DispatchKeySet keys = x.key_set();
  require(!keys.has(c10::DispatchKey::FuncTorchGradWrapper) &&
              !keys.has(c10::DispatchKey::FuncTorchBatched),
          "transforms of torch.func cannot go through {}, only through the callable itself",
          model.title());
  require(x.device() == device, "x is on {}, but the target is on {}", x.device().str(),
          device.str());
  const StateSpace space = model.space();
  if (!space.discrete() || !x.is_floating_point()) return as_states(space, x, "the states");
  std::vector<int64_t> shape = {space.sites};
  if (space.one_hot()) shape.push_back(space.categories);
  require(x.dim() == std::ssize(shape) + 1 && x.sizes().slice(1) == at::IntArrayRef(shape),
          "x has shape [{}]; relaxed states of this target must be [N, {}]",
          fmt::join(x.sizes(), ", "), fmt::join(shape, ", "));
  return x.to(torch::kFloat32);
}

// Computes U in the caller's grad mode.
torch::Tensor energy_of(Target& target, const GivenStates& given) {
  const TargetUse use(target);
  target.count_all_writes();
  const torch::Tensor x = input_of(target.model(), given.tensor, target.device());
  const bool gradients = torch::GradMode::is_enabled();
  const TorchStateGuard guard;
  const torch::AutoGradMode as_called(gradients);
  return target.model().energy(x);
}

// Computes log π(x) = −U(x) − log Z in the caller's grad mode. log_z: not given: that of a model of
// independent sites.
torch::Tensor log_prob_of(Target& target, const GivenStates& given, std::optional<double> log_z) {
  target.count_all_writes();
  if (!log_z) {
    if (const auto known = exact_log_z(target.model())) log_z = known->value;
  }
  require_options(log_z.has_value(),
                  "log Z of {} is not known in closed form; give log_z=, such as that of "
                  "isinglass.evaluate, or 0 for probabilities that are not normalised",
                  target.model().title());
  require_options(std::isfinite(*log_z), "log_z= is {}; a finite number is needed", *log_z);
  return -energy_of(target, given) - *log_z;
}

// Computes U and its gradient. For relaxed states the gradient is autograd's, the only one that all
// models have for them.
py::tuple energy_and_grad(Target& target, const GivenStates& given) {
  const TargetUse use(target);
  target.count_all_writes();
  const torch::Tensor x = input_of(target.model(), given.tensor, target.device());
  require(target.model().differentiable(), "{} has no gradient", target.model().title());
  Evaluation result;
  {
    const TorchStateGuard guard;
    if (target.space().discrete() && x.is_floating_point()) {
      target.model().EnergyModel::evaluate(x, result);
    } else {
      target.model().evaluate(x, result);
    }
  }
  return py::make_tuple(result.energy, result.gradient);
}

torch::Tensor random(Target& target, int64_t chains, uint64_t seed) {
  const TargetUse use(target);
  const TorchStateGuard guard;
  const torch::Tensor ids =
      torch::arange(chains, torch::TensorOptions(torch::kInt64).device(target.device()));
  return random_states(target.model(), ids, seed, target.device());
}

const Restriction& restriction_of(const Target& target) {
  require(target.restriction() != nullptr,
          "complete() and restrict() are methods of targets that given() made");
  return *target.restriction();
}

torch::Tensor complete(const Target& target, const GivenStates& given) {
  const Restriction& restriction = restriction_of(target);
  return restriction.complete(
      as_states(target.space(), given.tensor, "the states").to(target.device()));
}

torch::Tensor restrict_states(const Target& target, const GivenStates& given) {
  const Restriction& restriction = restriction_of(target);
  return restriction.restrict(
      as_states(restriction.whole(), given.tensor, "the states").to(target.device()),
      "the tensor of states");
}

std::string kind_of(const Target& target) {
  return kind_name(target.space().kind);
}

std::string target_text(const Target& target) {
  return fmt::format("<isinglass.Target {}: {}, on {}>", target.model().kind_name(),
                     sites_text(target.space()), target.device().str());
}

}  // namespace

py::tuple Target::pickled() const {
  py::dict tensors;
  if (!calls_python_ && parts_.empty()) {
    for (const auto& [name, tensor] : state_of(*model_)) tensors[name.c_str()] = tensor.detach();
  }
  return py::make_tuple(making_.function, making_.arguments, tensors);
}

Target::Pointer Target::unpickled(const py::tuple& state) {
  const Pointer target = made_again(py::cast<std::string>(state[0]), state[1]);
  const torch::NoGradGuard no_grad;
  const py::dict tensors = state[2];
  if (tensors.empty()) return target;
  for (auto& [name, tensor] : state_of(*target->model_)) {
    if (tensors.contains(name)) tensor.copy_(py::cast<torch::Tensor>(tensors[name.c_str()]));
  }
  return target;
}

void add_targets(py::module_& module) {
  py::class_<Target, TargetPointer>(module, "Target", collected<Target>(),
                                    R"(A target distribution π(x) ∝ exp(−U(x)).

States are uint8 [B, D] for discrete sites, float32 [B, D] for continuous sites and int64 [B, D] for
permutations. Gradients are taken with respect to their relaxed form, float32 [B, D], or one-hot
[B, D, K] for categorical sites. Targets are made by isinglass.models, load, instance and energy,
and can be pickled.

Example:
    >>> import torch, isinglass as ig
    >>> target = ig.models.bernoulli(theta=torch.tensor([1.0, -2.0]))
    >>> x = torch.tensor([[0, 0], [1, 1]], dtype=torch.uint8)
    >>> energy, gradient = target.energy_and_grad(x)
    >>> energy.tolist(), gradient.tolist()
    ([0.0, -1.0], [[1.0, -2.0], [1.0, -2.0]])
    >>> target.states, target.sites, target.dtype
    ('binary', 2, torch.uint8))")
      .def("energy", &energy_of, py::arg("x"),
           R"(Computes U(x) for states or relaxed states. It is differentiable, like any function
of torch.

Args:
    x: states [B, D] in the target's dtype, or relaxed states, float32 [B, D], or [B, D, K] for
        categorical sites; on the target's device.

Returns:
    the energies [B] in nats: float64, or the type that the target's callable returns.

Raises:
    Error: if x has another shape, type or device, or holds a value that no site has.)")
      .def("energy_and_grad", &energy_and_grad, py::arg("x"),
           R"(Computes what samplers use: U(x) and its gradient with respect to the relaxed state.

Args:
    x: states or relaxed states, as for energy().

Returns:
    the energies, float64 [B], and the gradient, float32 [B, D], or [B, D, K] for categorical sites.
    Both are detached.

Raises:
    Error: if x is not allowed, as for energy(), or the target has no gradient.)")
      .def("random_states", &random, py::arg("chains"), py::arg("seed") = 0,
           R"(Draws random states, from which chains start by default: uniform for discrete sites,
standard normal for continuous ones, draws of the base for a residual model.

Args:
    chains: the number of states B.
    seed: the seed, at least 0; equal seeds give equal states.

Returns:
    the states [B, D] in the target's dtype, on its device.)")
      .def("at_temperature", &at_temperature, py::arg("temperature"),
           R"(Makes this target at a temperature T: its probabilities are proportional to
exp(-U(x) / T), and its energies are U(x) / T.

Args:
    temperature: T, above 0. Above 1 the distribution is flatter, below 1 it is sharper.

Returns:
    the target, on the same device, which shares this one's parameters.

Raises:
    Error: if the temperature is not a finite number above 0.

Example:
    >>> import torch, isinglass as ig
    >>> coin = ig.models.bernoulli(theta=torch.tensor([3.0]))
    >>> coin.at_temperature(2).energy(torch.tensor([[1]], dtype=torch.uint8)).tolist()
    [1.5])")
      .def("bounded", &bounded, py::arg("low"), py::arg("high"),
           R"(Makes the target of this one's continuous states within bounds: its density is
proportional to exp(-U(x)) for states in [low, high]^D, and 0 outside.

Chains are reflected at the bounds, which keeps mala, hmc and fhl exact. Random states and tempering
start at uniform states.

Args:
    low: the lower bound of every site.
    high: its upper bound, above low.

Returns:
    the target, on the same device, which shares this one's parameters.

Raises:
    Error: if the states are discrete, the bounds are not two finite numbers in this order, or the
        target has other bounds.

Example:
    >>> import torch, isinglass as ig
    >>> normal = ig.models.gaussian(mean=torch.zeros(2), precision=torch.ones(2))
    >>> run = ig.sample(normal.bounded(0, 1), "hmc", chains=10, steps=100)
    >>> bool(((run.samples >= 0) & (run.samples <= 1)).all())
    True)")
      .def("given", &given, py::arg("fixed") = py::none(), py::kw_only(),
           py::arg("allowed") = py::none(), py::arg("within") = py::none(),
           py::arg("reference") = py::none(),
           R"(Makes the target of a part of this one's states: those in which some sites have fixed
values, sites take only some of their values, or few sites differ from a reference. A part of the
states is a target like any other, for samplers that are stepped by hand, too. Its states are the
sites that are left (numbers of the allowed values of each, if these are given), which complete()
makes whole states, and its energies are this target's.

Args:
    fixed: values [sites]; NaN, or -1 if states are whole numbers, marks a site that is sampled, and
        the others keep their values.
    allowed: a table [sites, values] that is not 0 where a site may take a value.
    within: the number of sites at which states may differ from the reference.
    reference: with within, a state [sites].

Returns:
    the target, on the same device, which shares this one's parameters.

Raises:
    Error: if a tensor does not fit, or nothing is left to sample.

Example:
    >>> import torch, isinglass as ig
    >>> target = ig.models.bernoulli(theta=torch.tensor([1.0, -2.0, 0.5]))
    >>> rest = target.given([1, -1, -1])
    >>> rest.sites, rest.energy(torch.tensor([[1, 0]], dtype=torch.uint8)).tolist()
    (2, [-1.0])
    >>> rest.complete([[1, 0]]).tolist(), rest.restrict([[1, 0, 1]]).tolist()
    ([[1, 1, 0]], [[0, 1]]))")
      .def("complete", &complete, py::arg("x"),
           R"(Makes whole states of those of a target that given() made.

Args:
    x: states [B, sites].

Returns:
    the states of the target that given() was called on.)")
      .def("restrict", &restrict_states, py::arg("x"),
           R"(Makes states of a target that given() made of whole ones. The values of fixed sites do
not matter.

Args:
    x: states of the target that given() was called on.

Returns:
    the states [B, sites].

Raises:
    Error: if a value is not allowed.)")
      .def("log_prob", &log_prob_of, py::arg("x"), py::arg("log_z") = py::none(),
           R"(Computes the log-probability of states, −U(x) − log Z. It is differentiable, like
any function of torch. As in torch.distributions, it is normalised.

Args:
    x: the states [B, D].
    log_z: log Z of this target, such as that of evaluate(), whose error is added to the result; 0
        gives log-probabilities that are not normalised. It may be left out where log Z is known
        in closed form: for bernoulli and categorical.

Returns:
    the log-probabilities in nats, [B]; for continuous states, log-densities.

Raises:
    Error: if `log_z` is left out and not known, if it is not finite, or as energy() does.)")
      .def("with_gradient_of", &with_gradient_of, py::arg("other"),
           R"(Makes this target with the gradient of another one. Samplers propose with that
gradient and accept with this target's energy, so that they stay exact for this
target.

Args:
    other: a target with the same states, which has a gradient.

Returns:
    the target with this energy and the other's gradient.

Raises:
    Error: if the states differ, or the other target has no gradient.)")
      .def("parameters", &Target::parameters,
           R"(Gives access to the parameters and buffers by name.

Returns:
    the target's own tensors by name, not copies: chains notice when they are written to.)")
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
          "The dtype of the states.")
      .def_property_readonly("device", &Target::device, "The device of its parameters and chains.")
      .def_property_readonly(
          "differentiable", [](const Target& t) { return t.model().differentiable(); },
          "True if the target has a gradient.")
      .def_property_readonly(
          "bounds",
          [](const Target& target) -> std::optional<std::pair<double, double>> {
            const std::optional<Bounds> bounds = bounds_of(target.model());
            if (!bounds) return std::nullopt;
            return std::pair{bounds->low, bounds->high};
          },
          "The interval of every site, a pair of numbers, for states within bounds; else None.")
      .def_property_readonly(
          "callable",
          [](const Target& t) -> py::object {
            const auto* own = dynamic_cast<const CallableModel*>(&t.model());
            return own ? own->callable() : py::none();
          },
          "The callable that computes the energy; None for a model of the registry.")
      .def(py::pickle([](const Target& one) { return one.pickled(); },
                      [](const py::tuple& saved) { return Target::unpickled(saved); }))
      .def("__repr__", &target_text);
  module.def("load", &load);
  module.def("instance", [](const std::string& text, const py::object& images,
                            const py::object& labels, const py::object& device) {
    const auto given = [](const py::object& value, const char* what) {
      return value.is_none() ? std::nullopt : std::optional(tensor_of(value, what));
    };
    return instance(text, given(images, "images="), given(labels, "labels="), device);
  });
  module.def("callable", &callable, py::arg("function"), py::arg("name"), py::arg("kind"),
             py::arg("sites"), py::arg("categories"), py::arg("device"),
             py::arg("bounds") = py::none());
  module.def("product", &product);
  module.def("residual", &residual);
}

}  // namespace isinglass::python

namespace pybind11::detail {

bool type_caster<isinglass::python::GivenStates>::load(handle given, bool) {
  if (!THPVariable_Check(given.ptr())) {
    const object torch = module_::import("torch");
    try {
      value.tensor = py::cast<torch::Tensor>(torch.attr("as_tensor")(given));
    } catch (const error_already_set&) {
      isinglass::fail(
          "the states are of type {}; a tensor is needed, or a value that torch.as_tensor() "
          "converts to one",
          py::cast<std::string>(type::of(given).attr("__name__")));
    }
    return true;
  }
  value.tensor = py::cast<torch::Tensor>(given);
  return true;
}

bool type_caster<isinglass::python::GivenTarget>::load(handle given, bool) {
  const bool target = isinstance<isinglass::python::Target>(given);
  require(target,
          "{} is not a target; isinglass.energy(…, sites=D) makes one from a module or function, "
          "and isinglass.models, load and instance make others",
          py::cast<std::string>(repr(type::of(given))));
  value.pointer = py::cast<isinglass::python::Target::Pointer>(given);
  return true;
}

}  // namespace pybind11::detail
