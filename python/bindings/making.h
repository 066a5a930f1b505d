// The functions that make targets: from the registry and files, from instances and callables, and
// from other targets. Pickle calls them again with the same arguments (Target::Making).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings/target.h"

namespace isinglass::python {

using TargetPointer = Target::Pointer;
using MaybeStates = std::optional<GivenStates>;

// Loads a model of the registry with its parameters: tensors by name, or those of a file that the
// options name. device: None means that of the tensors, or the CPU.
TargetPointer load(const std::string& name, const py::dict& tensors, const py::dict& options,
                   bool continuous, const py::object& device);
TargetPointer instance(const std::string& text, const std::optional<torch::Tensor>& images,
                       const std::optional<torch::Tensor>& labels, const py::object& device);
// The interval of continuous states, as a pair of numbers.
using MaybeBounds = std::optional<std::pair<double, double>>;
// kind: the name of a StateKind. categories: K; permutations ignore it.
TargetPointer callable(const py::object& function, const std::string& name, const std::string& kind,
                       int64_t sites, int64_t categories, const py::object& device,
                       const MaybeBounds& bounds = {});
TargetPointer product(const std::vector<TargetPointer>& factors);
TargetPointer with_gradient_of(const TargetPointer& target, const GivenTarget& other);
// Corrects a base by a network: U = U_base + c·tanh(f/c). log_z: of the base, if it is known.
TargetPointer residual(const GivenTarget& base, const GivenTarget& network, double bound,
                       std::optional<double> log_z, double log_z_error);
TargetPointer at_temperature(const TargetPointer& target, double temperature);
// Keeps the target's continuous states within bounds (models/bounds.h).
TargetPointer bounded(const TargetPointer& target, double low, double high);
// Restricts the states (models/conditional/restriction.h) in the same way for all chains.
TargetPointer given(const TargetPointer& target, const MaybeStates& fixed,
                    const MaybeStates& allowed, std::optional<int64_t> within,
                    const MaybeStates& reference);

// Makes a target by the function of this name.
TargetPointer made_again(const std::string& function, const py::tuple& arguments);

}  // namespace isinglass::python
