// Patches (kernels/network/patches.h) against LibTorch's convolution and its im2col.
#include <gtest/gtest.h>

#include "kernels/ops/patches.h"

namespace isinglass {
namespace {

TEST(Patches, TimesTheWeightsAreAConvolution) {
  torch::manual_seed(1);
  for (const int64_t channels : {1, 3, 4, 8}) {
    for (const int64_t stride : {1, 2}) {
      for (const auto &[height, width] : {std::pair{7, 7}, {5, 8}, {1, 2}}) {
        const auto images =
            torch::randn({3, channels, height, width}).contiguous(at::MemoryFormat::ChannelsLast);
        const torch::Tensor weights = torch::randn({6, channels, 3, 3}), bias = torch::randn({6});
        const torch::Tensor expected = at::conv2d(images.to(torch::kFloat64), weights.to(torch::kFloat64),
                                                  bias.to(torch::kFloat64), stride, 1);
        torch::Tensor rows =
            torch::full({3 * expected.size(2) * expected.size(3), 9 * channels}, NAN);
        ops::patches(images, stride, rows);
        const torch::Tensor product =
            at::addmm(bias, rows, weights.permute({0, 2, 3, 1}).flatten(1).t());
        const torch::Tensor seen =
            product.view({3, expected.size(2), expected.size(3), 6}).permute({0, 3, 1, 2});
        EXPECT_TRUE(torch::allclose(seen.to(torch::kFloat64), expected, 1e-5, 1e-5))
            << channels << " channels, stride " << stride << ", " << height << " x " << width;
      }
    }
  }
}

TEST(Patches, RefuseOtherLayouts) {
  torch::Tensor rows = torch::empty({16, 36});
  const torch::Tensor images = torch::rand({1, 4, 4, 4});
  EXPECT_THROW(ops::patches(images, 1, rows), c10::Error);
  const torch::Tensor last = images.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_THROW(ops::patches(last, 2, rows), c10::Error);
  EXPECT_THROW(ops::patches(last, 0, rows), c10::Error);
  EXPECT_NO_THROW(ops::patches(last, 1, rows));
}

}  // namespace
}  // namespace isinglass
