// The exit codes and sentences of failures that are no exceptions of this library.
#include "cli/terminal/failure.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <functional>

#include "io/error.h"
#include "io/torch.h"

namespace isinglass::failure_test {
namespace {

Failure failure_by(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    return failure_of(std::current_exception());
  }
  return {0, "", ""};
}

TEST(FailureOf, MemoryThatIsNotThereIsTheUsersError) {
  setenv("ISINGLASS_MEMORY", "2.5", 1);
  const Failure failure = failure_by([] { torch::empty({int64_t{1} << 50}, torch::kUInt8); });
  unsetenv("ISINGLASS_MEMORY");
  EXPECT_EQ(failure.code, 2);
  EXPECT_EQ(failure.message,
            "out of memory: 1048576.0 GiB are needed at once, but only 2.5 GiB are available; a "
            "smaller size is needed");
  EXPECT_EQ(failure_by([] { torch::ones({2}).view({3}); }).code, 1);
}

TEST(FailureOf, OptionsAreWrittenAsFlags) {
  const Failure failure = failure_by([] { throw NumericalError("with `step-size` 0.02"); });
  EXPECT_EQ(failure.code, 3);
  EXPECT_EQ(failure.message, "with --step-size 0.02");
}

}  // namespace
}  // namespace isinglass::failure_test
