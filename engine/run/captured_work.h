// Work that is the same kernels on the same tensors every time, as one launch: on a GPU it is captured in a
// CUDA graph once, and replayed.
//
// What changes from time to time lies in device memory, at addresses that stay: the replayed kernels
// read and advance it there. The first times run as they are: they make the buffers, and libraries load
// what they need.
#pragma once

#include <c10/util/FunctionRef.h>

#include <memory>
#include <string>

#include "io/torch.h"

namespace isinglass {

class CapturedWork {
 public:
  // what: the work, for messages. capture: on a GPU, of work that allows it; without it run() calls.
  CapturedWork(std::string what, bool capture);
  CapturedWork(CapturedWork&&) noexcept;
  ~CapturedWork();

  // Does the work, by a call of it or by a replay of what it did. The tensors of every call are where they
  // were at the call before, unless it was forgotten. Throws Error if it cannot be captured.
  void run(torch::Device device, c10::function_ref<void()> work);

  // The next work is captured anew.
  void forget();

 private:
  struct Capture;

  std::string what_;
  std::unique_ptr<Capture> capture_;  // null: none
};

}  // namespace isinglass
