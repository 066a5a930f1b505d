// Implements the conversion of arguments and results.
#include "python/bindings/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/registry.h"
#include "io/error.h"
#include "io/json.h"
#include "lab/spec/idle.h"
#include "lab/spec/tables.h"
#include "models/registry.h"

namespace isinglass::python {
namespace {

class PythonWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    warn(warning.msg().substr(0, warning.msg().find('\n')));
  }
};

std::string said(const py::handle& value) {
  return py::cast<std::string>(py::repr(value));
}

// Converts a Python value to the option's own type.
OptionValue value_of(const Option& option, const py::handle& value) {
  const auto refuse = [&](const std::string& needed) {
    fail_options("`{}` is {}; {} is needed", option.name, said(value), needed);
  };
  const bool truth = PyBool_Check(value.ptr());
  switch (option.type) {
    case ValueType::kSwitch:
      if (!truth) refuse("True or False");
      return py::cast<bool>(value);
    case ValueType::kInteger:
      if (truth || !PyIndex_Check(value.ptr())) refuse(range_text(option));
      try {
        return py::cast<int64_t>(py::reinterpret_steal<py::int_>(PyNumber_Index(value.ptr())));
      } catch (const py::cast_error&) {
        refuse(range_text(option) + ", below 2**63,");
      }
    case ValueType::kReal: {
      if (truth || !PyNumber_Check(value.ptr())) refuse(range_text(option));
      const double number = PyFloat_AsDouble(value.ptr());
      if (number == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        refuse(range_text(option));
      }
      return number;
    }
    default:
      break;
  }
  if (PyLong_Check(value.ptr()) && !truth) return py::cast<std::string>(py::str(value));
  const bool path = py::hasattr(value, "__fspath__");
  if (!path && !py::isinstance<py::str>(value)) refuse("a string, " + option.unit + ",");
  return py::cast<std::string>(path ? value.attr("__fspath__")() : py::cast<py::object>(value));
}

std::string option_name(std::string python) {
  if (python.ends_with('_')) python.pop_back();
  std::replace(python.begin(), python.end(), '_', '-');
  return python;
}

}  // namespace

std::string python_name(const std::string& option) {
  if (option == "class") return "class_";
  std::string name = option;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Throws Error, which lists the options of the table, the nearest to `name` first.
[[noreturn]] static void refuse_unknown(const OptionTable& table, const std::string& who,
                                        const std::string& name) {
  std::vector<std::string> known;
  for (const Option& option : table) known.push_back(python_name(option.name));
  fail("{} has no option {}=; it knows: {}", who, name,
       fmt::join(nearest_first(name, known), ", "));
}

OptionValues values_of(const OptionTable& table, const py::dict& arguments,
                       const std::string& who) {
  OptionValues values;
  for (const auto& [key, value] : arguments) {
    if (value.is_none()) continue;
    const auto name = py::cast<std::string>(key);
    const Option* option = find_option(table, option_name(name));
    if (!option) refuse_unknown(table, who, name);
    OptionValue said = value_of(*option, value);
    check_value(*option, said);
    values.emplace(option->name, std::move(said));
  }
  // Only training refuses options without effect: data of the other calls may be in memory, which
  // no option names.
  if (who == "train") refuse_idle(who, values, values);
  return values;
}

OptionValues sampler_values(const py::dict& options, const std::string& who) {
  OptionTable table, own;
  for (const Field<SamplerSpec>& one : sampler_fields()) {
    if (one.option.name == "sampler") continue;
    table.push_back(one.option);
    if (find_sampler(who).option(one.option.name)) own.push_back(one.option);
  }
  for (const auto& [key, value] : options) {
    const auto name = py::cast<std::string>(key);
    if (!find_option(table, option_name(name))) refuse_unknown(own, who, name);
  }
  return values_of(table, options, who);
}

void warn(const std::string& text) {
  if (text.empty()) return;
  const py::gil_scoped_acquire lock;
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw py::error_already_set();
}

void take_torch_warnings() {
  static PythonWarnings warnings;
  c10::WarningUtils::set_warning_handler(&warnings);
}

py::object object_of(const nlohmann::ordered_json& json) {
  return py::module_::import("json").attr("loads")(text_of(json));
}

}  // namespace isinglass::python
