// Ranks with GPUs have one each. tests/ranks tests the communication between real processes.
#include "engine/ranks/process_group.h"

#include <gtest/gtest.h>

#include "io/error.h"

namespace isinglass::process_group_test {
namespace {

using torch::Tensor;

TEST(ProcessGroup, NeedsAGpuForEveryRank) {
  Tensor uuids = torch::arange(48).to(torch::kUInt8).view({3, 16});
  require_own_gpus(uuids);
  uuids[2] = uuids[0];
  try {
    require_own_gpus(uuids);
    FAIL() << "two ranks with one GPU";
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "ranks 0 and 2 have the same GPU, but each rank needs its own; start fewer ranks on the "
        "machine, or use device cpu");
  }
}

}  // namespace
}  // namespace isinglass::process_group_test
