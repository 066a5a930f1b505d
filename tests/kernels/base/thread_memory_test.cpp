// A lack of memory is an exception for the caller of a kernel and does not end the process.
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <vector>

#include "kernels/base/thread_memory_cpu.h"
#include "kernels/gibbs/chromatic.h"
#include "kernels/path/exact_path.h"
#include "kernels/path/first_order_path.h"

namespace isinglass::thread_memory_test {
namespace {

TEST(ThreadMemory, IsReservedWhereItIsNotYet) {
  std::atomic<int> calls = 0;
  int64_t reserved = 5;
  cpu::reserve_on_threads(true, reserved, 5, [&] { ++calls; });
  EXPECT_EQ(calls, 0);
  cpu::reserve_on_threads(true, reserved, 6, [&] { ++calls; });
  EXPECT_GE(calls, 1);
  EXPECT_EQ(reserved, 6);
  calls = 0;
  cpu::reserve_on_threads(false, reserved, 7, [&] { ++calls; });  // memory of this thread only
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(reserved, 6);
}

TEST(ThreadMemory, WhatAThreadThrowsIsThrownToTheCaller) {
  int64_t reserved = 0;
  EXPECT_THROW(cpu::reserve_on_threads(true, reserved, 1, [] { throw std::bad_alloc(); }),
               std::bad_alloc);
  EXPECT_EQ(reserved, 0);
  std::atomic<int> calls = 0;  // one of some threads
  EXPECT_THROW(cpu::reserve_on_threads(true, reserved, 1,
                                       [&] {
                                         if (++calls == 1) throw std::runtime_error("full");
                                       }),
               std::runtime_error);
}

// There are more sites than any memory can hold. This is detected before any chain is read.
constexpr int64_t kTooMany = int64_t{1} << 58;

TEST(ThreadMemory, KernelsThrowWhereItIsShort) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's operator new ends the process where memory is short";
#endif
  Lattice lattice{};
  lattice.sites = kTooMany;
  lattice.categories = 2;
  const std::vector<int64_t> rng = {1, 0};
  EXPECT_ANY_THROW(cpu::chromatic_sweep(lattice, {}, 16, 1, rng.data(), nullptr, nullptr, nullptr,
                                        nullptr, {}, nullptr, nullptr));
  PathShape path{};
  path.chains = 16;
  path.sites = kTooMany;
  path.categories = 3;
  path.one_hot = true;
  EXPECT_ANY_THROW(cpu::draw_path(path, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, {},
                                  nullptr, nullptr));
  EXPECT_ANY_THROW(cpu::score_path(path, nullptr, nullptr, {}, nullptr, nullptr));
  const ExactPathShape exact{16, kTooMany, 3, Moves::kValues, Balancing::kSqrt, 1};
  EXPECT_ANY_THROW(cpu::advance_exact_path(exact, 0, nullptr, nullptr, nullptr, nullptr, nullptr,
                                           {}, nullptr, nullptr, nullptr));
}

}  // namespace
}  // namespace isinglass::thread_memory_test
