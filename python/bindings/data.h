// Data sets as Python gives them.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <optional>

#include "lab/spec/spec.h"
#include "train/data/dataset.h"

namespace isinglass::python {

struct DataUse {
  bool points = false;             // real [N, D] are points of continuous states
  bool whole = false;              // a tensor is not split: all of it trains
  py::object labels = py::none();  // the classes of the images that train
};

// None, or a name or file, which the options say: none. A tensor, or what torch or NumPy makes one
// of; or a dictionary of splits (train, validation, test), as train/data/own_images.h takes them.
std::optional<Dataset> dataset_of(const py::object& data, const DataSpec& spec,
                                  const DataUse& use = {});

// Classes as a tensor; undefined for None.
torch::Tensor labels_of(const py::object& labels);

void add_data(py::module_& module);

}  // namespace isinglass::python
