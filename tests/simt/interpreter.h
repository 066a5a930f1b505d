// Runs CUDA kernels thread by thread on a CPU, so that their own source is tested without a GPU,
// under address and undefined-behaviour sanitizers, and in several thread orders.
//
// A block's threads are fibers. A fiber runs until it reaches a synchronisation point:
// __syncthreads, or a warp operation (__syncwarp, shuffles, votes) with the lanes that its mask
// names; exited threads no longer count. Between two synchronisation points the threads run one
// after the other: forwards, backwards or shuffled. A result that depends on the order is a race. A
// synchronisation point that not all live threads reach is reported as an error. Before every
// block, shared memory is filled with a pattern that may differ between orders. A result that
// depends on an unwritten word then differs, too, or is not a number.
//
// An observer sees launches, synchronisation points and atomics, and counts with the help of the
// compiler (tests/simt/counters/).
//
// To test a family: kernels/<family>.cu is compiled as C++ with tests/simt/shim/ in front of the
// include path (its kernels/base/launch.h replaces ours), both found by a glob; add
// tests/simt/<family>_test.cpp, which compares cuda::f with cpu::f under expect_twins() of twins.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};

// The built-in variables of the running thread.
inline uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace simt {

enum class Order { kForwards, kBackwards, kShuffled };

struct Schedule {
  Order order = Order::kForwards;
  uint64_t seed = 1;         // seed of the shuffles
  unsigned threads = 0;      // threads of a block; 0: as launched
  uint8_t poison = 0xff;     // bytes of shared memory before a block: 0xff makes NaN
  unsigned first_block = 0;  // the blocks before it do not run; the last one always does
};

// Sets the schedule of the launches that follow.
void set_schedule(const Schedule& schedule);

struct Launch {
  std::string kernel;
  unsigned blocks = 0, threads = 0;
  size_t shared_bytes = 0;  // dynamic
};

// Receives the events of the interpreter, in order.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin_launch(const Launch& launch) = 0;
  virtual void begin_block() = 0;              // shared memory is new
  virtual void run(unsigned thread) = 0;       // the following events belong to this thread
  virtual void stop(unsigned warp) = 0;        // all its lanes wait, or have ended
  virtual void meet_lanes(unsigned warp) = 0;  // some at an operation of the warp
  virtual void meet_block() = 0;               // at a barrier
  virtual void atomic(const void* at) = 0;
  virtual void end_block() = 0;
  virtual void end_launch() = 0;
};

// Sets the observer of the launches that follow; null for none.
void set_observer(Observer* observer);

// The memory space of an address for a running thread. Stacks, constants of the program and
// arguments of kernels, which lie on the host's stack, belong to none.
enum class Space { kGlobal, kShared, kNone };
Space space_of(const void* address);

// The shared memory of the launch, and that of the kernels' own variables.
struct SharedRange {
  const char* begin;
  size_t bytes;
};
SharedRange dynamic_range();
SharedRange static_range();

// A kernel whose threads cannot go on together: a barrier that some never reach.
class Deadlock : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs `thread` once per thread of every block; throws Deadlock.
void run_grid(const Launch& launch, const std::function<void()>& thread);

void* dynamic_shared();  // shared memory of the running block, exactly as large as the launch says

enum class Meeting { kBlock, kWarp };

// Waits for the other threads. In a warp, every lane gives a value and gets that of lane `source`.
uint64_t meet(Meeting meeting, unsigned mask, uint64_t value, unsigned source);

// As meet(), with the bit mask of the lanes whose value is not 0.
unsigned vote(unsigned mask, bool value);

unsigned lane();

void tell_atomic(const void* at);

template <class T>
T exchange(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = meet(Meeting::kWarp, mask, bits, source);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace simt

#define __global__
#define __device__
#define __host__
#define __noinline__
#define __launch_bounds__(...)
// Blocks run one after the other. The variables have a section of their own, so that they can be
// filled with the pattern. UndefinedBehaviorSanitizer checks the bounds of such arrays.
#define __shared__ static __attribute__((section("simt_shared")))

inline void __syncthreads() {
  simt::meet(simt::Meeting::kBlock, 0, 0, 0);
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  simt::meet(simt::Meeting::kWarp, mask, 0, simt::lane());
}
template <class T>
T __shfl_sync(unsigned mask, T value, int source) {
  return simt::exchange(mask, value, static_cast<unsigned>(source) % 32);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int other) {
  return simt::exchange(mask, value, simt::lane() ^ static_cast<unsigned>(other));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta) {
  return simt::exchange(mask, value,
                        simt::lane() + delta < 32 ? simt::lane() + delta : simt::lane());
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta) {
  return simt::exchange(mask, value, simt::lane() >= delta ? simt::lane() - delta : simt::lane());
}
inline unsigned __ballot_sync(unsigned mask, int value) {
  return simt::vote(mask, value != 0);
}
inline int __any_sync(unsigned mask, int value) {
  return simt::vote(mask, value != 0) != 0;
}
inline int __all_sync(unsigned mask, int value) {
  return simt::vote(mask, value == 0) == 0;
}
inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}
inline int __clz(int bits) {
  return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits));
}
inline int __ffs(int bits) {
  return __builtin_ffs(bits);
}
// These count as atomics, not as reads and writes.
#define ISINGLASS_ATOMIC __attribute__((no_sanitize("thread")))
template <class T, class V>
ISINGLASS_ATOMIC T atomicAdd(T* at, V value) {
  simt::tell_atomic(at);
  const T before = *at;
  *at = static_cast<T>(before + value);
  return before;
}
template <class T>
ISINGLASS_ATOMIC T atomicMax(T* at, T value) {
  simt::tell_atomic(at);
  const T before = *at;
  if (value > before) *at = value;
  return before;
}
