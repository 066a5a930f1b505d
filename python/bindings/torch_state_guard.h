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

// Ends a long computation in this thread early. Between steps it runs Python's own signal handlers,
// at most every 20 ms, and calls the user's stop function, at most every 100 ms. The computation
// ends at the next step if that function, or a callback, returns True, or if any of them raises
// an exception (KeyboardInterrupt for Ctrl-C), which is kept until the partial result has been
// made. Python runs signal handlers in the main thread only.
class Interrupts {
 public:
  // stop: a function without arguments, or None.
  explicit Interrupts(py::object stop = py::none());
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Returns whether to stop. Call without the GIL. Other threads that wait for the target may use
  // it meanwhile.
  bool requested();
  // Calls a function of the user, with or without an argument, and acts on what it returns or
  // raises. Call with the GIL held.
  template <class... Argument>
  void call(const py::object& function, const Argument&... argument) {
    try {
      stopped_ = is_true(function(argument...)) || stopped_;
    } catch (py::error_already_set& error) {
      keep(std::move(error));
    }
  }
  // Keeps an exception raised in a callable that the library called. Call with the GIL held.
  void keep(py::error_already_set error) { raised_ = std::move(error); }
  // Returns true if the user's functions asked to stop.
  bool stopped() const { return stopped_; }
  // Returns the exception, or None. Call with the GIL held.
  py::object exception() const;

  // Returns the object of this thread; null outside of such computations.
  static Interrupts* current();

 private:
  // Returns true for True of Python or NumPy only: a callback may return any other value.
  static bool is_true(const py::object& answer);

  Interrupts* outer_;
  py::object stop_;
  bool stopped_ = false;
  std::chrono::steady_clock::time_point asked_ = {}, stop_called_ = {};
  std::optional<py::error_already_set> raised_;
};

}  // namespace isinglass::python
