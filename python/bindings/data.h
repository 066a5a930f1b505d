// Converts data sets given by Python.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <string>

#include "lab/spec/spec.h"
#include "train/data/dataset.h"

namespace isinglass::python {

struct DataUse {
  bool points = false;             // Real [N, D] are points of continuous states.
  bool every_split = false;        // If points are needed, images of all splits become real.
  bool whole = false;              // A tensor is not split: all of it is training data.
  py::object labels = py::none();  // Holds the classes of the training images.
};

// Returns the data set in memory: a tensor, anything that torch or NumPy can convert to one, or a
// dictionary of splits (train, validation, test), as train/data/own_images.h accepts them. Returns
// nothing for None, a name or a file, which the options handle.
std::optional<Dataset> dataset_of(const py::object& data, const DataSpec& spec,
                                  const DataUse& use = {});

// Returns a tensor, array or list as a dense tensor on the CPU without gradients. Throws Error, in
// which `what` is the subject, for what torch cannot convert.
torch::Tensor tensor_of(const py::handle& value, const std::string& what);

// Returns classes as a tensor; undefined for None.
torch::Tensor labels_of(const py::object& labels);

void add_data(py::module_& module);

}  // namespace isinglass::python
