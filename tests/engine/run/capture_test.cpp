// A capture ends, whatever happens within it. Tests use a graph that only records its calls, and on
// a GPU the real one.
#include "engine/run/capture.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "engine/run/captured_work.h"
#include "io/error.h"
#include "io/torch.h"

namespace isinglass::capture_test {
namespace {

struct WrittenGraph {
  std::string throws_in = "";  // the call that throws
  std::vector<std::string> calls = {};

  void begin() { call("begin"); }
  void end() { call("end"); }
  void abandon() noexcept { calls.emplace_back("abandon"); }
  void call(const std::string& name) {
    calls.push_back(name);
    if (name == throws_in) throw std::runtime_error(name);
  }
};

using Calls = std::vector<std::string>;

TEST(Capture, BeginsAndEndsAroundTheWork) {
  WrittenGraph graph;
  capture(graph, [&] { graph.call("work"); });
  EXPECT_EQ(graph.calls, (Calls{"begin", "work", "end"}));
}

TEST(Capture, IsAbandonedWhereAPartOfItThrows) {
  const Calls all = {"begin", "work", "end"};
  for (size_t n = 0; n < all.size(); ++n) {
    SCOPED_TRACE(all[n]);
    WrittenGraph graph{.throws_in = all[n]};
    try {
      capture(graph, [&] { graph.call("work"); });
      ADD_FAILURE() << "the exception was kept";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), all[n]);
    }
    Calls expected(all.begin(), all.begin() + static_cast<int64_t>(n) + 1);
    expected.emplace_back("abandon");
    EXPECT_EQ(graph.calls, expected);
  }
}

// Exceptions that are not derived from std::exception count, too.
TEST(Capture, IsAbandonedWhateverIsThrown) {
  WrittenGraph graph;
  EXPECT_THROW(capture(graph, [] { throw 7; }), int);
  EXPECT_EQ(graph.calls, (Calls{"begin", "abandon"}));
}

class FailedCaptureGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  }

  const torch::Device device_{torch::kCUDA, 0};

  // Runs work that fails when it is captured, and what must be possible after that.
  template <class Failure>
  void expect_usable_after(Failure failure) {
    torch::Tensor sum = torch::zeros({4}, device_);
    CapturedWork failing("a step", /*capture=*/true);
    int calls = 0;
    const auto work = [&] {
      sum += torch::ones({4}, device_);
      if (++calls > 3) failure(sum);
    };
    for (int n = 0; n < 3; ++n) failing.run(device_, work);
    EXPECT_ANY_THROW(failing.run(device_, work));
    EXPECT_EQ((torch::ones({1}, device_) + 1).item<float>(), 2);
    EXPECT_TRUE(torch::isfinite(torch::randn({100}, device_)).all().item<bool>());
    EXPECT_EQ(sum.sum().item<float>(), 12);  // captured work has not run
    CapturedWork works("a step", /*capture=*/true);
    for (int n = 0; n < 6; ++n) works.run(device_, [&] { sum += torch::ones({4}, device_); });
    EXPECT_EQ(sum.sum().item<float>(), 36);
  }
};

TEST_F(FailedCaptureGpu, LeavesCudaUsableWhereTheHostAsksTheDevice) {
  expect_usable_after([](const torch::Tensor& sum) { sum.sum().item<float>(); });
}

TEST_F(FailedCaptureGpu, LeavesCudaUsableWhereMemoryIsShort) {
  expect_usable_after([&](const torch::Tensor&) {
    torch::empty({int64_t{1} << 45}, torch::TensorOptions(torch::kFloat32).device(device_));
  });
}

TEST_F(FailedCaptureGpu, LeavesCudaUsableAfterAnErrorOfTheHost) {
  expect_usable_after([](const torch::Tensor&) { fail("an energy is missing"); });
}

}  // namespace
}  // namespace isinglass::capture_test
