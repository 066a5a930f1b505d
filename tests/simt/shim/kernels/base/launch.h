// Replaces kernels/base/launch.h for kernels that run under tests/simt/interpreter.h.
#pragma once

#define ISINGLASS_SIMT
#define ISINGLASS_GRID_CONSTANT

#include "kernels/base/host_device.h"
#include "tests/simt/devices.h"
#include "tests/simt/interpreter.h"

// After the shuffles and barriers:
#include "kernels/base/reduce_cuda.h"

namespace isinglass {

using simt::current_device;
using simt::multiprocessors;
using simt::shared_memory_limit;

struct LaunchShape {
  unsigned blocks;
  unsigned threads;
  size_t shared_bytes = 0;
};

// `words`: the arguments of ISINGLASS_LAUNCH, the kernel's name first
template <class... Parameters, class... Arguments>
void launch_kernel(const char* words, void (*kernel)(Parameters...), LaunchShape shape,
                   Stream stream, Arguments&&... arguments) {
  simt::begin_launch(stream, shape.shared_bytes);
  const std::string name(words, std::strcspn(words, ",<"));
  const auto thread = [&] { kernel(arguments...); };  // on the stack, where nothing is counted
  simt::run_grid({name, shape.blocks, shape.threads, shape.shared_bytes}, std::cref(thread));
}

#define ISINGLASS_LAUNCH(...) ::isinglass::launch_kernel(#__VA_ARGS__, __VA_ARGS__)

template <class T>
T* dynamic_shared_memory() {
  return static_cast<T*>(simt::dynamic_shared());
}

}  // namespace isinglass
