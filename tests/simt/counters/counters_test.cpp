// The counters on kernels whose counts are known by hand. For all tests of tests/simt that are
// linked with this file, it also checks that no kernel reads shared memory that its block has not
// written.
#include "tests/simt/counters/counters.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "kernels/base/launch.h"
#include "kernels/random/philox.h"
#include "tests/simt/twins.h"

namespace isinglass {
namespace {

using simt::LaunchCounts;

// Memory aligned to 256 bytes, like CUDA's.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : memory_(count * sizeof(T) + 256) {}
  T* data() {
    return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory_.data()) + 255) &
                                ~uintptr_t{255});
  }

 private:
  std::vector<char> memory_;
};

// In every order of threads and blocks, the counts are the same.
template <class Run>
LaunchCounts counts_of(Run run) {
  std::vector<LaunchCounts> found;
  for (const auto order :
       {simt::Order::kForwards, simt::Order::kBackwards, simt::Order::kShuffled}) {
    simt::set_schedule({.order = order});
    const simt::Counters counters;
    run();
    EXPECT_EQ(counters.launches().size(), 1u);
    found.push_back(counters.launches().at(0));
    EXPECT_EQ(found.back().warps, found.front().warps);
    EXPECT_EQ(found.back().longest, found.front().longest);
  }
  simt::set_schedule({});
  return found.front();
}

__global__ void copy(const float* from, float* to, int stride, int shift) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i * static_cast<unsigned>(stride) + static_cast<unsigned>(shift)];
}

LaunchCounts count_copy(int stride, int shift) {
  Buffer<float> from(128 * 8 + 8), to(128);
  return counts_of(
      [&] { ISINGLASS_LAUNCH(copy, {2u, 64u}, nullptr, from.data(), to.data(), stride, shift); });
}

TEST(Counters, ACoalescedCopyTakesFourSectorsAWarp) {
  const LaunchCounts c = count_copy(1, 0);
  EXPECT_EQ(c.launch.kernel, "copy");
  EXPECT_EQ(c.launch.blocks, 2u);
  EXPECT_EQ(c.launch.threads, 64u);
  EXPECT_EQ(c.warps.loads, 4);
  EXPECT_EQ(c.warps.stores, 4);
  EXPECT_EQ(c.warps.load_sectors, 16);
  EXPECT_EQ(c.warps.store_sectors, 16);
  EXPECT_EQ(c.bytes_read, 512);
  EXPECT_EQ(c.bytes_written, 512);
  EXPECT_EQ(c.longest,
            (simt::WarpCounts{.loads = 1, .stores = 1, .load_sectors = 4, .store_sectors = 4}));
  EXPECT_EQ(c.warps.shared + c.barriers + c.philox_calls + c.warps.operations, 0);
}

TEST(Counters, AShiftedCopyTakesOneSectorMore) {
  EXPECT_EQ(count_copy(1, 1).warps.load_sectors, 4 * 5);
  EXPECT_EQ(count_copy(1, 8).warps.load_sectors, 4 * 4);
}

TEST(Counters, AStridedCopyTakesASectorALane) {
  EXPECT_EQ(count_copy(2, 0).warps.load_sectors, 4 * 8);
  EXPECT_EQ(count_copy(8, 0).warps.load_sectors, 4 * 32);
  EXPECT_EQ(count_copy(8, 0).warps.store_sectors, 4 * 4);
  EXPECT_EQ(count_copy(0, 3).warps.load_sectors, 4);  // all lanes the same word
  EXPECT_EQ(count_copy(0, 3).bytes_read, 32);
}

// Every lane stores its own word and loads that of another lane; `T` has 4, 8 or 16 bytes.
template <class T>
__global__ void through_shared(T* out, unsigned stride) {
  T* shared = dynamic_shared_memory<T>();
  shared[threadIdx.x] = T{};
  for (unsigned w = 1; w < stride; ++w) shared[w * 32 + threadIdx.x] = T{};
  __syncthreads();
  out[threadIdx.x] = shared[threadIdx.x * stride];
}

template <class T>
int64_t conflicts(unsigned stride) {
  Buffer<T> out(32);
  const LaunchCounts c = counts_of([&] {
    ISINGLASS_LAUNCH(through_shared<T>, {1u, 32u, stride * 32 * sizeof(T)}, nullptr, out.data(),
                     stride);
  });
  EXPECT_EQ(c.launch.kernel, "through_shared");
  EXPECT_EQ(c.warps.shared, stride + 1);
  EXPECT_EQ(c.barriers, 1);
  EXPECT_EQ(c.longest.barriers, 1);
  EXPECT_EQ(c.unwritten_reads, 0);
  return c.warps.bank_conflicts;
}

TEST(Counters, BankConflicts) {
  EXPECT_EQ(conflicts<float>(1), 0);
  EXPECT_EQ(conflicts<float>(2), 1);
  EXPECT_EQ(conflicts<float>(3), 0);
  EXPECT_EQ(conflicts<float>(32), 31);
  EXPECT_EQ(conflicts<double>(1), 0);
  EXPECT_EQ(conflicts<double>(2), 2 * 1);  // each half of the warp
  EXPECT_EQ(conflicts<double>(32), 2 * 15);
}

// Lanes leave a loop after different numbers of rounds, and meet behind it.
__global__ void ragged(const int* rounds, const float* in, float* out) {
  float sum = 0;
  for (int r = 0; r < rounds[threadIdx.x]; ++r) sum += in[r * 32 + static_cast<int>(threadIdx.x)];
  out[threadIdx.x] = sum;
}

TEST(Counters, LanesThatLeaveALoopEarlyWaitBehindIt) {
  Buffer<int> rounds(32);
  Buffer<float> in(32 * 4), out(32);
  for (int l = 0; l < 32; ++l) rounds.data()[l] = l < 8 ? 4 : 1;
  const LaunchCounts c = counts_of(
      [&] { ISINGLASS_LAUNCH(ragged, {1u, 32u}, nullptr, rounds.data(), in.data(), out.data()); });
  EXPECT_EQ(c.warps.stores, 1);
  EXPECT_EQ(c.warps.store_sectors, 4);
  EXPECT_EQ(c.warps.loads, 1 + 4);  // rounds once, in four times
  EXPECT_EQ(c.warps.load_sectors, 4 + 4 + 1 + 1 + 1);
}

__global__ void random_bits(uint64_t seed, uint32_t* out, bool first_lane_only) {
  if (first_lane_only && threadIdx.x % 32 > 0) return;
  const uint32_t site = threadIdx.x;
  for (uint32_t t = 0; t < 3; ++t) {
    out[t * 64 + site] = PhiloxStream{seed, 0, t}.site_word(Purpose::kSiteValue, site);
  }
  out[site] ^= philox4x32(seed, 1, 1, 1, site).word[0];
}

TEST(Counters, PhiloxCalls) {
  Buffer<uint32_t> out(3 * 64);
  for (const bool first : {false, true}) {
    const LaunchCounts c = counts_of(
        [&] { ISINGLASS_LAUNCH(random_bits, {1u, 64u}, nullptr, uint64_t{5}, out.data(), first); });
    EXPECT_EQ(c.philox_calls, first ? 2 * 4 : 64 * 4);
    EXPECT_EQ(c.warps.philox, 2 * 4);
    EXPECT_EQ(c.longest.philox, 4);
  }
}

__global__ void fuse(const float* in, float* out) {
  float sum = in[threadIdx.x];
  const unsigned times = 3 + threadIdx.x % 4;
  for (unsigned n = 0; n < times; ++n) sum = fmaf(sum, 0.5f, 1);
  out[threadIdx.x] = sum;
}

// The lanes with the most of them hold up their warp.
TEST(Counters, FusedProducts) {
  Buffer<float> in(64), out(64);
  const LaunchCounts c =
      counts_of([&] { ISINGLASS_LAUNCH(fuse, {1u, 64u}, nullptr, in.data(), out.data()); });
  EXPECT_EQ(c.warps.fused, 2 * 6);
  EXPECT_EQ(c.longest.fused, 6);
}

__global__ void meet(const double* in, double* out, int* count) {
  __shared__ double kept[32];
  const double sum = warp_sum(in[threadIdx.x]);
  for (int round = 0; round < 3; ++round) __syncthreads();
  if (threadIdx.x % 32 == 0) kept[threadIdx.x / 32] = sum;
  __syncthreads();
  out[threadIdx.x] = kept[0];
  if (threadIdx.x < 10) atomicAdd(count, 1);
}

TEST(Counters, BarriersOperationsAndAtomics) {
  Buffer<double> in(64), out(64);
  Buffer<int> count(1);
  const LaunchCounts c = counts_of(
      [&] { ISINGLASS_LAUNCH(meet, {5u, 64u}, nullptr, in.data(), out.data(), count.data()); });
  EXPECT_EQ(c.barriers, 5 * 4);
  EXPECT_EQ(c.warps.barriers, 5 * 2 * 4);
  EXPECT_EQ(c.warps.operations, 5 * 2 * 5);  // a shuffle each of 16, 8, 4, 2, 1
  EXPECT_EQ(c.warps.atomics, 5 * 10);
  EXPECT_EQ(c.warps.loads, 5 * 2);  // atomics are no loads
  EXPECT_EQ(c.warps.shared, 5 * (2 + 2));
  EXPECT_EQ(c.unwritten_reads, 0);
  EXPECT_EQ(c.bytes_read, 512);
}

__global__ void read_unwritten(int* out, unsigned written) {
  __shared__ int own[32];
  int* dynamic = dynamic_shared_memory<int>();
  if (threadIdx.x < written) own[threadIdx.x] = dynamic[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = own[threadIdx.x] + dynamic[threadIdx.x];
}

TEST(Counters, ReadsOfSharedMemoryThatTheBlockHasNotWritten) {
  Buffer<int> out(32);
  for (const unsigned written : {32u, 30u}) {
    const LaunchCounts c = counts_of([&] {
      ISINGLASS_LAUNCH(read_unwritten, {2u, 32u, 32 * sizeof(int)}, nullptr, out.data(), written);
    });
    EXPECT_EQ(c.unwritten_reads, 2 * 2 * (32 - written));
  }
}

// Runs with every test of the program's other suites.
class WrittenBeforeRead : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    if (std::string(test.test_suite_name()) != "Counters")
      counters_ = std::make_unique<simt::Counters>();
  }
  void OnTestEnd(const testing::TestInfo&) override {
    if (!counters_) return;
    for (const LaunchCounts& c : counters_->launches()) {
      if (c.unwritten_reads > 0) {
        ADD_FAILURE() << c.launch.kernel << ": " << c.unwritten_reads
                      << " reads of unwritten shared memory";
      }
    }
    counters_.reset();
  }
  std::unique_ptr<simt::Counters> counters_;
};

const bool listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new WrittenBeforeRead);
  return true;
}();

}  // namespace
}  // namespace isinglass
