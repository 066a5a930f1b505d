// Implements the functions that make targets.
#include "python/bindings/making.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>

#include "engine/annealing/at_temperature.h"
#include "io/error.h"
#include "io/pt/state_dict.h"
#include "lab/run/assemble.h"
#include "lab/run/memory.h"
#include "lab/run/restricted.h"
#include "lab/spec/field.h"
#include "models/combined/bounded.h"
#include "models/combined/gradient_override.h"
#include "models/combined/product.h"
#include "models/combined/residual.h"
#include "models/instances/instances.h"
#include "python/bindings/callable_model.h"
#include "python/bindings/data.h"
#include "python/bindings/torch_state_guard.h"
#include "python/bindings/values.h"
#include "train/data/own_images.h"

namespace isinglass::python {
namespace {

torch::Device device_named(const py::object& device) {
  if (device.is_none()) return torch::kCPU;
  return device_of(py::cast<std::string>(py::str(device)));
}

// Converts a state dict, or the contents of a checkpoint, to a PtValue.
PtValue value_of(const py::handle& object) {
  if (THPVariable_Check(object.ptr())) return {py::cast<torch::Tensor>(object)};
  if (!py::isinstance(object, py::module_::import("collections.abc").attr("Mapping"))) return {};
  PtDict dict;
  for (const auto& [key, value] : py::dict(object.cast<py::object>())) {
    dict.emplace_back(py::str(key).cast<std::string>(), value_of(value));
  }
  return {std::move(dict)};
}

// Returns images as grey levels from 0 to 1, float32 [N, D]. Throws Error for other values.
torch::Tensor unit_pixels(const torch::Tensor& images) {
  OwnArrays arrays;
  arrays.train = {"images", images};
  const Dataset checked = own_images(arrays, "images", {});
  require_complete(checked, "a target made of images");
  if (!images.is_floating_point()) return as_points(checked).train;
  return images.reshape({images.size(0), -1}).to(torch::kFloat32);
}

}  // namespace

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
  std::shared_ptr<EnergyModel> model;
  {
    const TorchStateGuard guard;
    model = model_of(spec, place, continuous, std::move(given));
  }
  return std::make_shared<Target>(
      std::move(model), place,
      Target::Making{"load", py::make_tuple(name, tensors, options, continuous, place.str())});
}

TargetPointer instance(const std::string& text, const std::optional<torch::Tensor>& images,
                       const std::optional<torch::Tensor>& labels, const py::object& device) {
  const torch::Device place = device_named(device);
  ImageSource source;
  bool pixels_read = !images, labels_read = !labels;
  if (images) {
    source.pixels = [&] {
      pixels_read = true;
      return unit_pixels(*images);
    };
  }
  if (labels) {
    source.labels = [&] {
      labels_read = true;
      return *labels;
    };
  }
  std::shared_ptr<EnergyModel> model;
  {
    const TorchStateGuard guard;
    require_memory(instance_bytes(text), torch::kCPU, fmt::format("instance {}", text));
    model = make_instance(text, source);
    require_options(pixels_read, "images= would have no effect, because {} is not made of images",
                    text);
    require_options(labels_read, "labels= would have no effect, because {} has no labels", text);
    model->to(place);
  }
  return std::make_shared<Target>(
      std::move(model), place,
      Target::Making{"instance", py::make_tuple(text, images, labels, place.str())});
}

TargetPointer callable(const py::object& function, const std::string& name, const std::string& kind,
                       int64_t sites, int64_t categories, const py::object& device,
                       const MaybeBounds& bounds) {
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
  std::optional<Bounds> interval;
  if (bounds) {
    interval = Bounds{bounds->first, bounds->second};
    check_bounds(*interval, "bounds");
    require_options(!space.discrete(),
                    "`bounds` are those of continuous states, but `states` is {}", kind);
  }
  const torch::Device place = device_named(device);
  return std::make_shared<Target>(
      std::make_shared<CallableModel>(function, name, space, interval), place,
      Target::Making{"callable",
                     py::make_tuple(function, name, kind, sites, categories, place.str(), bounds)});
}

TargetPointer product(const std::vector<TargetPointer>& factors) {
  require_options(!factors.empty(), "`factors` is empty; at least one target is needed");
  return std::make_shared<Target>(
      factors,
      +[](const std::vector<std::shared_ptr<EnergyModel>>& models) {
        return std::shared_ptr<EnergyModel>(std::make_shared<ProductModel>(models));
      },
      Target::Making{"product", py::make_tuple(factors)});
}

TargetPointer with_gradient_of(const TargetPointer& target, const GivenTarget& given) {
  const TargetPointer& other = given.pointer;
  return std::make_shared<Target>(
      std::vector<TargetPointer>{target, other},
      +[](const std::vector<std::shared_ptr<EnergyModel>>& models) {
        return std::shared_ptr<EnergyModel>(
            std::make_shared<GradientOverrideModel>(models.at(0), models.at(1)));
      },
      Target::Making{"with_gradient_of", py::make_tuple(target, other)});
}

TargetPointer residual(const GivenTarget& base, const GivenTarget& network, double bound,
                       std::optional<double> log_z, double log_z_error) {
  const torch::Device below = base.pointer->device(), above = network.pointer->device();
  require(below == above, "the base is on {}, and the network on {}", below.str(), above.str());
  ResidualOptions options{.bound = bound};
  if (log_z) options.log_z = KnownLogZ{*log_z, log_z_error};
  return std::make_shared<Target>(
      std::vector<TargetPointer>{base.pointer, network.pointer},
      [options](const std::vector<std::shared_ptr<EnergyModel>>& models) {
        return std::shared_ptr<EnergyModel>(
            std::make_shared<ResidualModel>(models.at(0), models.at(1), options));
      },
      Target::Making{"residual",
                     py::make_tuple(base.pointer, network.pointer, bound, log_z, log_z_error)});
}

TargetPointer at_temperature(const TargetPointer& target, double temperature) {
  return std::make_shared<Target>(
      std::vector<TargetPointer>{target},
      [temperature,
       device = target->device()](const std::vector<std::shared_ptr<EnergyModel>>& models) {
        return std::shared_ptr<EnergyModel>(
            std::make_shared<AtTemperature>(models.at(0), temperature, device));
      },
      Target::Making{"at_temperature", py::make_tuple(target, temperature)});
}

TargetPointer bounded(const TargetPointer& target, double low, double high) {
  return std::make_shared<Target>(
      std::vector<TargetPointer>{target},
      [low, high](const std::vector<std::shared_ptr<EnergyModel>>& models) {
        return std::shared_ptr<EnergyModel>(
            std::make_shared<BoundedModel>(models.at(0), Bounds{low, high}));
      },
      Target::Making{"bounded", py::make_tuple(target, low, high)});
}

TargetPointer given(const TargetPointer& target, const MaybeStates& fixed,
                    const MaybeStates& allowed, std::optional<int64_t> within,
                    const MaybeStates& reference) {
  const auto tensor = [](const MaybeStates& states) {
    return states ? states->tensor.detach() : torch::Tensor();
  };
  RestrictionOptions options{.fixed = tensor(fixed),
                             .allowed = tensor(allowed),
                             .reference = tensor(reference),
                             .within = within};
  require_options(options.given(), "`fixed`, `allowed` or `within` is needed");
  const torch::Device device = target->device();
  const auto restriction = std::make_shared<const Restriction>(target->space(), options, device);
  require_options(restriction->rows() == 1,
                  "a target has one restriction, but {} rows are given; sample() takes a row for "
                  "each chain",
                  restriction->rows());
  const auto maybe = [](const torch::Tensor& t) { return t.defined() ? py::cast(t) : py::none(); };
  auto restricted_target = std::make_shared<Target>(
      std::vector<TargetPointer>{target},
      [restriction, device](const std::vector<std::shared_ptr<EnergyModel>>& models) {
        return restricted(models.at(0), *restriction, device, /*lasting=*/true);
      },
      Target::Making{"given", py::make_tuple(target, maybe(options.fixed), maybe(options.allowed),
                                             within, maybe(options.reference))});
  restricted_target->set_restriction(restriction);
  return restricted_target;
}

TargetPointer made_again(const std::string& function, const py::tuple& a) {
  const auto maybe = [&](size_t i) { return py::cast<std::optional<torch::Tensor>>(a[i]); };
  if (function == "load") {
    return load(py::cast<std::string>(a[0]), a[1], a[2], py::cast<bool>(a[3]), a[4]);
  }
  if (function == "instance") {
    return instance(py::cast<std::string>(a[0]), maybe(1), maybe(2), a[3]);
  }
  if (function == "callable") {
    return callable(a[0], py::cast<std::string>(a[1]), py::cast<std::string>(a[2]),
                    py::cast<int64_t>(a[3]), py::cast<int64_t>(a[4]), a[5],
                    a.size() > 6 ? py::cast<MaybeBounds>(a[6]) : MaybeBounds());
  }
  if (function == "product") return product(py::cast<std::vector<TargetPointer>>(a[0]));
  if (function == "residual") {
    return residual({py::cast<TargetPointer>(a[0])}, {py::cast<TargetPointer>(a[1])},
                    py::cast<double>(a[2]), py::cast<std::optional<double>>(a[3]),
                    py::cast<double>(a[4]));
  }
  if (function == "given") {
    const auto states = [&](size_t i) -> MaybeStates {
      if (a[i].is_none()) return std::nullopt;
      return GivenStates{py::cast<torch::Tensor>(a[i])};
    };
    return given(py::cast<TargetPointer>(a[0]), states(1), states(2),
                 py::cast<std::optional<int64_t>>(a[3]), states(4));
  }
  if (function == "bounded") {
    return bounded(py::cast<TargetPointer>(a[0]), py::cast<double>(a[1]), py::cast<double>(a[2]));
  }
  if (function == "at_temperature") {
    return at_temperature(py::cast<TargetPointer>(a[0]), py::cast<double>(a[1]));
  }
  require(function == "with_gradient_of", "a pickled target was made by '{}', which is unknown",
          function);
  return with_gradient_of(py::cast<TargetPointer>(a[0]), {py::cast<TargetPointer>(a[1])});
}

}  // namespace isinglass::python
