// The devices that the interpreter emulates: the current device, the shared memory per block, and
// the devices on which kernels were launched. As in CUDA, a launch goes to the device of its
// stream, or to the current device if it is on a default stream, which is represented by null.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st {
  int device;
};

namespace simt {

constexpr int kDevices = 2;
constexpr int64_t kVolta = 96 << 10, kTuring = 64 << 10, kAmpere = 163 << 10, kHopper = 227 << 10;

void set_current_device(int device);
int current_device();
CUstream_st* stream_of(int device);  // not the default one

void set_shared_memory_limit(int64_t bytes);  // limit of every device; kHopper until it is set
int64_t shared_memory_limit(int device);
int64_t multiprocessors(int device);

int64_t launches_on(int device);

// Called before a kernel runs; counts the launch. Throws std::runtime_error if the stream belongs
// to a device other than the current one, and std::logic_error if a block has less shared memory.
void begin_launch(const CUstream_st* stream, size_t shared_bytes);

}  // namespace simt
