// Implements the guard of the process's settings and the handling of signals.
#include "python/bindings/torch_state_guard.h"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <omp.h>

#include <algorithm>

#include "io/control_group.h"
#include "python/bindings/target_use.h"

namespace isinglass::python {
namespace {

constexpr auto kBetweenChecks = std::chrono::milliseconds(20);
constexpr auto kBetweenStopCalls = std::chrono::milliseconds(100);

thread_local Interrupts* current_interrupts = nullptr;

// Switches autocast off and returns whether it was on.
bool switch_off_autocast(c10::DeviceType device) {
  const bool on = at::autocast::is_autocast_enabled(device);
  if (on) at::autocast::set_autocast_enabled(device, false);
  return on;
}

// Sets the number of OpenMP threads and returns the previous one. The OpenMP runtimes of torch and
// of this library may be two, each with its own number.
int use_threads(int count) {
  const int before = omp_get_max_threads();
  if (before != count) omp_set_num_threads(count);
  return before;
}

// Returns torch's number of threads. If that is the number of all processors, as by default, the
// quota of a control group limits it.
int threads_of_torch() {
  const int count = at::get_num_threads();
  return count < omp_get_num_procs() ? count : std::min(count, usable_processors());
}

}  // namespace

TorchStateGuard::TorchStateGuard()
    : autocast_cpu_(switch_off_autocast(torch::kCPU)),
      autocast_cuda_(switch_off_autocast(torch::kCUDA)),
      threads_(use_threads(threads_of_torch())) {}

TorchStateGuard::~TorchStateGuard() {
  use_threads(threads_);
  if (autocast_cpu_) at::autocast::set_autocast_enabled(torch::kCPU, true);
  if (autocast_cuda_) at::autocast::set_autocast_enabled(torch::kCUDA, true);
}

Interrupts::Interrupts(py::object stop) : outer_(current_interrupts), stop_(std::move(stop)) {
  current_interrupts = this;
}

Interrupts::~Interrupts() {
  current_interrupts = outer_;
}

Interrupts* Interrupts::current() {
  return current_interrupts;
}

bool Interrupts::requested() {
  TargetUse::give_way();
  if (stopped_ || raised_) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < kBetweenChecks) return false;
  asked_ = now;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) {
    raised_.emplace();
  } else if (!stop_.is_none() && now - stop_called_ >= kBetweenStopCalls) {
    stop_called_ = now;
    call(stop_);
  }
  return stopped_ || raised_;
}

bool Interrupts::is_true(const py::object& answer) {
  py::detail::make_caster<bool> boolean;
  return boolean.load(answer, /*convert=*/false) && static_cast<bool>(boolean);
}

py::object Interrupts::exception() const {
  return raised_ ? raised_->value() : py::none();
}

}  // namespace isinglass::python
