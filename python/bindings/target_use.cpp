// Implements the turns of threads on targets.
#include "python/bindings/target_use.h"

#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "io/error.h"
#include "python/bindings/target.h"

namespace isinglass::python {
namespace {

constexpr auto kBetweenSignals = std::chrono::milliseconds(50);
constexpr auto kForOthers = std::chrono::microseconds(100);

thread_local TargetUse* current_use = nullptr;

}  // namespace

TargetUse::TargetUse(const std::vector<Target*>& targets) : outer_(current_use) {
  for (Target* target : targets) target->add_turns(turns_);
  std::sort(turns_.begin(), turns_.end(), std::less<>());
  turns_.erase(std::unique(turns_.begin(), turns_.end()), turns_.end());
  if (outer_) {
    for (size_t i = 0; i < turns_.size(); ++i) {
      if (turns_[i]->mutex.try_lock()) continue;
      release(i);
      fail(
          "a call within another call on a target needs a second target that another thread is "
          "using; give every thread a copy of its own (copy.deepcopy)");
    }
  } else {
    wait();
  }
  current_use = this;
}

TargetUse::~TargetUse() {
  current_use = outer_;
  release(turns_.size());
}

void TargetUse::wait() {
  for (size_t i = 0; i < turns_.size(); ++i) {
    Turn& turn = *turns_[i];
    if (turn.mutex.try_lock()) continue;
    ++turn.waiting;
    bool interrupted = false;
    {
      const py::gil_scoped_release no_gil;
      while (!interrupted && !turn.mutex.try_lock_for(kBetweenSignals)) {
        const py::gil_scoped_acquire gil;
        interrupted = PyErr_CheckSignals() != 0;
      }
    }
    --turn.waiting;
    if (!interrupted) continue;
    release(i);
    throw py::error_already_set();
  }
}

void TargetUse::release(size_t count) {
  while (count > 0) turns_[--count]->mutex.unlock();
}

void TargetUse::give_way() {
  TargetUse* use = current_use;
  if (!use || use->outer_) return;
  const auto waited_for = [](const Turn* turn) { return turn->waiting > 0; };
  if (std::none_of(use->turns_.begin(), use->turns_.end(), waited_for)) return;
  use->release(use->turns_.size());
  std::this_thread::sleep_for(kForOthers);
  for (Turn* turn : use->turns_) {
    ++turn->waiting;
    turn->mutex.lock();
    --turn->waiting;
  }
}

}  // namespace isinglass::python
