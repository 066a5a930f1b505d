// Data sets as Python gives them.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <optional>

#include "train/data/dataset.h"

namespace isinglass::python {

// None, or a name or file, which the options say: none. A tensor or array: images, shuffled with a
// fixed seed and split 80/10/10, or points. A dictionary of splits (train, validation, test): those.
// Points: real numbers of continuous states, of which all train.
std::optional<Dataset> dataset_of(const py::object& data, bool points);

void add_data(py::module_& module);

}  // namespace isinglass::python
