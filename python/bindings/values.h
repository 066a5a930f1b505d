// Converts keyword arguments to the options of a table, and results to Python objects.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <nlohmann/json.hpp>
#include <string>

#include "lab/spec/field.h"

namespace isinglass::python {

// Returns the values by the options' names, checked. Throws Error for a name that the table of the
// command `who` lacks, for a value of another type (whole numbers count as numbers, and paths as
// texts), and for a value out of range.
OptionValues values_of(const OptionTable& table, const py::dict& arguments, const std::string& who);

template <class Spec>
Spec spec_of(const py::dict& arguments, const std::string& who) {
  return isinglass::spec_of<Spec>(values_of(options_of<Spec>(), arguments, who));
}

// Returns the options of a sampler, without its name.
OptionValues sampler_values(const py::dict& options, const std::string& who);

py::object object_of(const nlohmann::ordered_json& json);

// Issues a Python UserWarning at the caller's line, or nothing if the text is empty. The thread may
// have released the interpreter's lock.
void warn(const std::string& text);

// Turns the warnings of LibTorch, and those that models and readers give through it, into Python
// warnings, in the thread that calls it.
void take_torch_warnings();

// Returns the Python name of an option: burn_in for burn-in, class_ for class.
std::string python_name(const std::string& option);

}  // namespace isinglass::python
