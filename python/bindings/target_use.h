// Makes calls of several threads on one target take turns. A model keeps buffers, tables of the
// latest temperatures and fields of the chains that moved last, which two threads must not write to
// at the same time.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

namespace isinglass::python {

class Target;

// The lock of a target, with the number of threads that wait for it.
struct Turn {
  std::recursive_timed_mutex mutex;
  std::atomic<int> waiting = 0;
};

// Gives this thread the exclusive use of targets, and of those that they were made of, for a scope.
class TargetUse {
 public:
  // Waits, without the GIL, until no other thread uses them. Call with the GIL held. A call within
  // a call, such as one of a callback, may use the same targets again. Throws Error if it needs
  // other targets that another thread is using: two such threads might wait for each other.
  explicit TargetUse(const std::vector<Target*>& targets);
  explicit TargetUse(Target& target) : TargetUse(std::vector<Target*>{&target}) {}
  ~TargetUse();
  TargetUse(const TargetUse&) = delete;
  TargetUse& operator=(const TargetUse&) = delete;

  // Lets other threads that wait for the targets of this one use them first. Long runs call it
  // between steps, without the GIL.
  static void give_way();

 private:
  void wait();
  void release(size_t count);

  std::vector<Turn*> turns_;  // by address, so that all threads take them in the same order
  TargetUse* outer_;
};

}  // namespace isinglass::python
