// A guest's manners: what the library needs set while its own code runs in somebody's Python process,
// and what is theirs again when it returns or throws.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <chrono>
#include <exception>
#include <optional>

#include "io/torch.h"
#include "models/full_precision.h"

namespace isinglass::python {

// A scope of the library's own code, entered with the GIL and without it inside. There, as in the
// program: full float32 precision, gradients can be taken (no inference mode, no `no_grad`), no
// autocast, and as many threads as torch has.
class Guest {
 public:
  Guest();
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

 private:
  FullPrecision precision_;
  c10::InferenceMode inference_{false};
  torch::AutoGradMode gradients_{true};
  bool autocast_cpu_, autocast_cuda_;
  int threads_;
  py::gil_scoped_release release_;
};

// Signals while a long computation runs in this thread. Python's own handlers run, now and then,
// between steps; what they raise (Ctrl-C: KeyboardInterrupt) ends the computation at the next step
// and is kept until the partial result is made.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Whether to stop; without the GIL.
  bool requested();
  // What was raised in a callable while it was called by the library, with the GIL.
  void keep(py::error_already_set error) { raised_ = std::move(error); }
  // The exception; None if there is none. With the GIL.
  py::object exception() const;

  static Interrupts* current();  // of this thread; null outside of such computations

 private:
  Interrupts* outer_;
  std::chrono::steady_clock::time_point asked_ = {};
  std::optional<py::error_already_set> raised_;
};

}  // namespace isinglass::python
