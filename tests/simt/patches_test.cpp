// kernels/network/patches.cu against patches_cpu.cpp, bit for bit.
#include "kernels/network/patches.h"

#include "tests/simt/twins.h"

namespace isinglass {
namespace {

std::vector<float> run(const PatchShape& shape, Twin twin) {
  Inputs inputs(5);
  const auto image =
      inputs.reals<float>(shape.images * shape.height * shape.width * shape.channels, 10);
  std::vector<float> rows(shape.numbers(), NAN);
  (twin == Twin::kCpu ? cpu::patches : cuda::patches)(shape, image.data(), rows.data(), nullptr);
  return rows;
}

TEST(PatchTwins, Alike) {
  for (const int64_t channels : {1, 4, 6, 12}) {
    for (const int64_t stride : {1, 2}) {
      expect_twins([&](Twin twin) { return run({3, 5, 4, channels, stride}, twin); });
    }
  }
}

}  // namespace
}  // namespace isinglass
