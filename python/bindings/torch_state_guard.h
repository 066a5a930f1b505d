// Changes settings of the Python process while the library's own code runs, and restores them when
// the code returns or throws.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <chrono>
#include <exception>
#include <optional>

#include "io/torch.h"
#include "models/full_precision.h"

namespace isinglass::python {

// Marks a scope of the library's own code. It is entered with the GIL and releases it inside. As in
// the program, inside the scope float32 has full precision, gradients can be taken (no inference
// mode, no `no_grad`), autocast is off, and there are as many threads as torch has.
class TorchStateGuard {
 public:
  TorchStateGuard();
  ~TorchStateGuard();
  TorchStateGuard(const TorchStateGuard&) = delete;
  TorchStateGuard& operator=(const TorchStateGuard&) = delete;

 private:
  FullPrecision precision_;
  c10::InferenceMode inference_{false};
  torch::AutoGradMode gradients_{true};
  bool autocast_cpu_, autocast_cuda_;
  int threads_;
  py::gil_scoped_release release_;
};

// Handles signals during a long computation in this thread. Python's own handlers run now and then
// between steps. An exception that they raise (KeyboardInterrupt for Ctrl-C) ends the computation
// at the next step and is kept until the partial result has been made.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Returns whether to stop. Call without the GIL.
  bool requested();
  // Keeps an exception raised in a callable that the library called. Call with the GIL held.
  void keep(py::error_already_set error) { raised_ = std::move(error); }
  // Returns the exception, or None. Call with the GIL held.
  py::object exception() const;

  // Returns the object of this thread; null outside of such computations.
  static Interrupts* current();

 private:
  Interrupts* outer_;
  std::chrono::steady_clock::time_point asked_ = {};
  std::optional<py::error_already_set> raised_;
};

}  // namespace isinglass::python
