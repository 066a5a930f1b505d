// Implements the emulated devices.
#include "tests/simt/devices.h"

#include <stdexcept>

#include "kernels/base/host_device.h"

namespace simt {
namespace {

int current = 0;
int64_t limit = kHopper;
int64_t launches[kDevices] = {};
CUstream_st streams[kDevices] = {{0}, {1}};

}  // namespace

void set_current_device(int device) {
  current = device;
}

int current_device() {
  return current;
}

CUstream_st* stream_of(int device) {
  return &streams[device];
}

void set_shared_memory_limit(int64_t bytes) {
  limit = bytes;
}

int64_t shared_memory_limit(int) {
  return limit;
}

int64_t multiprocessors(int) {
  return 132;
}

int64_t launches_on(int device) {
  return launches[device];
}

void begin_launch(const CUstream_st* stream, size_t shared_bytes) {
  if (stream && stream->device != current) {
    throw std::runtime_error("a launch on a stream of device " + std::to_string(stream->device) +
                             " while device " + std::to_string(current) + " is current");
  }
  isinglass::check_shared_memory(shared_bytes, limit, "tests/simt", 0);
  ++launches[current];
}

}  // namespace simt
