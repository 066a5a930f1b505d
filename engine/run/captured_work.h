// Runs work that consists of the same kernels on the same tensors every time. On a GPU it is
// captured in a CUDA graph once, and then replayed as one launch.
//
// Whatever changes from time to time must lie in device memory at fixed addresses, where the
// replayed kernels read and update it. The first calls run the work directly: they allocate
// buffers, and libraries load what they need.
#pragma once

#include <c10/util/FunctionRef.h>

#include <memory>
#include <string>

#include "io/torch.h"

namespace isinglass {

class CapturedWork {
 public:
  // what: names the work in messages. capture: requests a graph; it needs a GPU and work that can
  // be captured. Without it, run() calls the work.
  CapturedWork(std::string what, bool capture);
  CapturedWork(CapturedWork&&) noexcept;
  ~CapturedWork();

  // Runs the work, by a call or by a replay of the captured kernels. All tensors must be where they
  // were at the call before, unless invalidate() was called since. Throws Error if the work cannot
  // be captured.
  void run(torch::Device device, c10::function_ref<void()> work);

  // Makes the next run() capture the work anew.
  void invalidate();

 private:
  struct Capture;

  std::string what_;
  std::unique_ptr<Capture> capture_;  // null: no capture
};

}  // namespace isinglass
