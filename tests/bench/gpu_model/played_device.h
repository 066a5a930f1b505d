// Emulates a GPU for LibTorch. Tensors on cuda:0 lie in host memory, LibTorch's operators on them
// run on the CPU, and this project's run their CUDA twins under the interpreter (tests/simt). The
// program therefore makes the same calls as on a GPU, and they can be listed. libtorch_cuda must
// not be loaded.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace isinglass {

inline const c10::Device kGpu(c10::kCUDA, 0);  // the emulated one

// A call of a LibTorch operator that computes. Views and new tensors do not count.
struct LibraryCall {
  std::string name;
  int64_t bytes = 0;   // of input and output tensors
  bool waits = false;  // the host waits for a result of the device
};

class PlayedDevice {
 public:
  PlayedDevice();
  ~PlayedDevice();
  PlayedDevice(const PlayedDevice&) = delete;
  PlayedDevice& operator=(const PlayedDevice&) = delete;

  // Returns the calls since the last call of this function.
  std::vector<LibraryCall> take_calls();

 private:
  struct Registration;
  std::unique_ptr<Registration> registration_;
};

}  // namespace isinglass
