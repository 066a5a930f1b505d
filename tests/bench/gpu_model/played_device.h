// Lets LibTorch believe in a GPU: tensors on cuda:0 lie in the host's memory, operators of LibTorch on them run
// on the CPU, and this project's run their CUDA twins under the interpreter (tests/simt). So the program
// makes the very calls that it makes on a GPU, and they can be listed. libtorch_cuda must not be loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace isinglass {

// One call of an operator of LibTorch that computes: views and new tensors are none.
struct LibraryCall {
  std::string name;
  int64_t bytes = 0;   // of tensors that go in and come out
  bool waits = false;  // the host waits for what the device has computed
};

class PlayedDevice {
 public:
  PlayedDevice();
  ~PlayedDevice();
  PlayedDevice(const PlayedDevice&) = delete;
  PlayedDevice& operator=(const PlayedDevice&) = delete;

  // Since the last call of it.
  std::vector<LibraryCall> take_calls();

 private:
  struct Registration;
  std::unique_ptr<Registration> registration_;
};

}  // namespace isinglass
