// Keyword arguments as the options of a table, and results as Python objects.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <nlohmann/json.hpp>
#include <string>

#include "lab/spec/field.h"

namespace isinglass::python {

// The values by the options' names, checked. Throws Error for a name that the table of `who` lacks,
// a value of another type (numbers may be whole numbers; texts may be paths), or one out of range.
OptionValues values_of(const OptionTable& table, const py::dict& arguments, const std::string& who);

template <class Spec>
Spec spec_of(const py::dict& arguments, const std::string& who) {
  return isinglass::spec_of<Spec>(values_of(options_of<Spec>(), arguments, who));
}

// A sampler's options alone, of which the name is no one.
OptionValues sampler_values(const py::dict& options, const std::string& who);

py::object object_of(const nlohmann::ordered_json& json);

// A UserWarning of Python, at the caller's line; nothing if there is no text.
void warn(const std::string& text);

// burn-in as Python says it: burn_in; class: class_.
std::string python_name(const std::string& option);

}  // namespace isinglass::python
