// A target distribution as Python has it: a model of the library, on its device.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <vector>

#include "models/energy_model.h"

namespace isinglass::python {

class Target {
 public:
  Target(std::shared_ptr<EnergyModel> model, torch::Device device);

  EnergyModel& model() const { return *model_; }
  const std::shared_ptr<EnergyModel>& pointer() const { return model_; }
  StateSpace space() const { return model_->space(); }
  torch::Device device() const { return device_; }

  // How often the parameters have been written to that somebody here can write to: chains keep
  // energies, which are then to be computed again. A sum of the tensors' own counts.
  int64_t changes() const;
  // Of the model or module as it is now; from now on they are watched.
  void watch();
  // As a dictionary by the names of the state dict, live.
  py::dict parameters();

 private:
  std::shared_ptr<EnergyModel> model_;
  torch::Device device_;
  std::vector<torch::Tensor> watched_;
};

void add_targets(py::module_& module);

}  // namespace isinglass::python
