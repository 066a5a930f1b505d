// The interpreter itself: barriers, shuffles, votes, atomics and shared memory work as on a GPU,
// and it has the power to see a race, an index out of bounds and a barrier that some threads miss.
#include "tests/simt/interpreter.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kernels/base/launch.h"
#include "tests/simt/twins.h"

namespace isinglass {
namespace {

// Sum of `count` numbers by one block, with a barrier between the halves, or without (a race).
__global__ void block_sum(const int* in, int count, int* out, bool barrier) {
  int* shared = dynamic_shared_memory<int>();
  const unsigned t = threadIdx.x;
  shared[t] = 0;
  for (int i = static_cast<int>(t); i < count; i += static_cast<int>(blockDim.x))
    shared[t] += in[i];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) shared[t] += shared[t + half];
    if (barrier) __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = shared[0];
}

int sum_with(const simt::Schedule& schedule, bool barrier) {
  std::vector<int> in(777), out(1);
  for (int i = 0; i < 777; ++i) in[i] = i * i % 101;
  simt::set_schedule(schedule);
  ISINGLASS_LAUNCH(block_sum, {1u, 64u, 64 * sizeof(int)}, nullptr, in.data(), 777, out.data(),
                   barrier);
  return out[0];
}

TEST(Interpreter, BarriersOrderSharedMemory) {
  int expected = 0;
  for (int i = 0; i < 777; ++i) expected += i * i % 101;
  for (const simt::Schedule& schedule : schedules()) EXPECT_EQ(sum_with(schedule, true), expected);
}

TEST(Interpreter, AMissingBarrierShowsInSomeOrder) {
  const int first = sum_with(schedules().front(), false);
  int different = 0;
  for (const simt::Schedule& schedule : schedules())
    different += sum_with(schedule, false) != first;
  EXPECT_GT(different, 0);
}

__global__ void overrun(int* out, int beyond) {
  int* shared = dynamic_shared_memory<int>();
  shared[threadIdx.x + beyond] = 1;
  __syncthreads();
  out[threadIdx.x] = shared[threadIdx.x];
}

// Runs in a separate process, because AddressSanitizer ends it.
TEST(InterpreterDeathTest, AnIndexBeyondSharedMemoryIsFound) {
  std::vector<int> out(32);
  const auto launch = [&](int beyond) {
    ISINGLASS_LAUNCH(overrun, {1u, 32u, 32 * sizeof(int)}, nullptr, out.data(), beyond);
  };
  launch(0);
  EXPECT_DEATH(launch(1), "heap-buffer-overflow");
}

// Reports which words a block finds unwritten, in the shared memory of a launch and of a kernel.
__global__ void read_shared(unsigned* out, bool written) {
  __shared__ unsigned own[32];  // no template: GCC leaves their variables out of sections
  unsigned* dynamic = dynamic_shared_memory<unsigned>();
  if (written) own[threadIdx.x] = dynamic[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = own[threadIdx.x];
  out[blockIdx.x * 64 + 32 + threadIdx.x] = dynamic[threadIdx.x];
  own[threadIdx.x] = dynamic[threadIdx.x] = 7;  // is gone at the next block
}

TEST(Interpreter, UnwrittenSharedMemoryDiffersFromOrderToOrder) {
  const auto read = [](bool written, const simt::Schedule& schedule) {
    simt::set_schedule(schedule);
    std::vector<unsigned> out(2 * 64);
    ISINGLASS_LAUNCH(read_shared, {2u, 32u, 32 * sizeof(unsigned)}, nullptr, out.data(), written);
    return out;
  };
  const auto first = read(true, schedules().front());
  for (const simt::Schedule& schedule : schedules()) {
    EXPECT_EQ(read(true, schedule), first);
    EXPECT_EQ(read(false, schedule), std::vector<unsigned>(2 * 64, 0x01010101u * schedule.poison));
  }
  EXPECT_NE(schedules()[0].poison, schedules()[1].poison);
}

__global__ void write_beyond(int* out) {
  out[threadIdx.x] = 1;
}

TEST(InterpreterDeathTest, AnIndexBeyondABufferIsFound) {
  const auto out = std::make_unique<int[]>(31);
  EXPECT_DEATH(ISINGLASS_LAUNCH(write_beyond, {1u, 32u}, nullptr, out.get()),
               "heap-buffer-overflow");
}

TEST(Interpreter, ABlockHasNoMoreSharedMemoryThanItsDevice) {
  std::vector<int> out(32);
  const SharedMemory limit(127);
  try {
    ISINGLASS_LAUNCH(overrun, {1u, 32u, 32 * sizeof(int)}, nullptr, out.data(), 0);
    FAIL() << "the launch was allowed";
  } catch (const std::logic_error& error) {
    EXPECT_EQ(std::string(error.what())
                  .find("a kernel asks for 128 bytes of shared memory, but a "
                        "block of this GPU has 127, at "),
              0u);
  }
}

__global__ void missed_barrier(int*) {
  if (threadIdx.x % 2) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

TEST(Interpreter, ABarrierThatSomeThreadsMissIsAnError) {
  int unused = 0;
  simt::set_schedule({});
  EXPECT_THROW(ISINGLASS_LAUNCH(missed_barrier, {1u, 64u}, nullptr, &unused), simt::Deadlock);
}

__global__ void warp_operations(double* sums, unsigned* votes, int* shifted, int* total) {
  const unsigned t = threadIdx.x;
  if (t >= 70) return;  // the rest of the last warp is gone, as at the end of a loop
  sums[t] = t < 64 ? warp_sum(1.0 + t) : 0.0;
  const unsigned mask = t < 64 ? 0xffffffffu : 0x3fu;
  votes[t] = __ballot_sync(mask, t % 3 == 0);
  shifted[t] = __shfl_down_sync(mask, static_cast<int>(t), 1);
  atomicAdd(total, static_cast<int>(t));
}

TEST(Interpreter, WarpOperations) {
  struct Result {
    std::vector<double> sums = std::vector<double>(70);
    std::vector<unsigned> votes = std::vector<unsigned>(70);
    std::vector<int> shifted = std::vector<int>(70);
    int total = 0;
    bool operator==(const Result&) const = default;
  };
  for (const simt::Schedule& schedule : schedules()) {
    simt::set_schedule(schedule);
    Result r;
    ISINGLASS_LAUNCH(warp_operations, {1u, 96u}, nullptr, r.sums.data(), r.votes.data(),
                     r.shifted.data(), &r.total);
    EXPECT_EQ(r.total, 69 * 70 / 2);
    for (unsigned t = 0; t < 70; ++t) {
      const unsigned first = t / 32 * 32, last = std::min(first + 32, 70u);
      unsigned expected = 0;
      double sum = 0;
      for (unsigned other = first; other < last; ++other) {
        if (other % 3 == 0) expected |= 1u << (other - first);
        sum += 1.0 + other;
      }
      EXPECT_EQ(r.votes[t], expected);
      if (t < 64) {
        EXPECT_EQ(r.sums[t], sum);
        EXPECT_EQ(r.shifted[t], static_cast<int>(t % 32 == 31 ? t : t + 1));
      }
    }
  }
}

}  // namespace
}  // namespace isinglass
