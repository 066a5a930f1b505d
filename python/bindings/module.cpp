// Defines the extension module isinglass._isinglass, which exposes the library to Python. The
// package in python/isinglass/ is a thin layer on top of it.
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include "engine/ranks/process_group.h"
#include "io/error.h"
#include "lab/run/assemble.h"
#include "python/bindings/data.h"
#include "python/bindings/ranks.h"
#include "python/bindings/target.h"
#include "python/bindings/values.h"

namespace isinglass::python {

void add_registry(py::module_& module);
void add_samplers(py::module_& module);
void add_runs(py::module_& module);
void add_training(py::module_& module);
void add_diagnostics(py::module_& module);

namespace {

// Replaces the names of options by those of keyword arguments: `step-size` becomes step_size=.
std::string spelled(std::string text) {
  for (std::string name = first_option(text); !name.empty(); name = first_option(text)) {
    const std::string quoted = "`" + name + "`";
    text.replace(text.find(quoted), quoted.size(), python_name(name) + "=");
  }
  return text;
}

PyObject *error_type = nullptr, *numerical_error_type = nullptr;

// Translates this library's exceptions to its Python types and LibTorch's as torch does; Python's
// own pass unchanged.
void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const OptionError& error) {
    PyErr_SetString(error_type, spelled(error.sentence("`", "`")).c_str());
  } catch (const Error& error) {
    PyErr_SetString(error_type, spelled(error.what()).c_str());
  } catch (const NumericalError& error) {
    PyErr_SetString(numerical_error_type, spelled(error.what()).c_str());
  } catch (const RankLost&) {
    await_end();
    PyErr_SetString(PyExc_RuntimeError,
                    "another rank has ended, so that this rank cannot continue");
  } catch (python_error& error) {
    error.restore();
  } catch (const c10::Error&) {
    torch::translate_exception_to_python(thrown);
  }
}

void add_errors(py::module_& module) {
  const py::object error = py::reinterpret_steal<py::object>(PyErr_NewExceptionWithDoc(
      "isinglass.Error",
      "Bad input. The message names the argument, its value and what is allowed.", PyExc_ValueError,
      nullptr));
  const py::object numerical = py::reinterpret_steal<py::object>(PyErr_NewExceptionWithDoc(
      "isinglass.NumericalError",
      "A computation failed, because it diverged or a number is not finite.", error.ptr(),
      nullptr));
  error_type = error.ptr();
  numerical_error_type = numerical.ptr();
  module.attr("Error") = error;
  module.attr("NumericalError") = numerical;
  py::register_exception_translator(&translate);
}

}  // namespace
}  // namespace isinglass::python

PYBIND11_MODULE(_isinglass, module) {
  using namespace isinglass::python;
  add_errors(module);
  take_torch_warnings();
  add_registry(module);
  add_targets(module);
  add_samplers(module);
  add_runs(module);
  add_training(module);
  add_data(module);
  add_diagnostics(module);
  add_ranks(module);
}
