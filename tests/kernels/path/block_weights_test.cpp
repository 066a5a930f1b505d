// Weights of a block of binary sites at once against its sites one by one, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/path/fast/block_weights_cpu.h"
#include "kernels/path/move_weights.h"

namespace isinglass {
namespace {

// What keeps a step that refreshes some sites equal to one that takes all again.
TEST(BlockWeights, EqualThoseOfSingleSites) {
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal(0, 8);
  for (int repeat = 0; repeat < 50; ++repeat) {
    float gradient[kBlockSites];
    uint8_t x[kBlockSites];
    for (int i = 0; i < kBlockSites; ++i) {
      gradient[i] = i == 5 ? 700.0f : normal(random);
      x[i] = random() % 2;
    }
    const int64_t count = repeat % 2 ? kBlockSites : 1 + repeat / 2;
    const uint32_t removed = repeat % 3 ? 0 : static_cast<uint32_t>(random());
    for (int g = 0; g < 4; ++g) {
      const BinaryGradientWeights weights{gradient, static_cast<Balancing>(g)};
      double weight[kBlockSites];
      const double scale =
          cpu::flip_weights(weights.balancing, gradient, x, count, removed, weight);
      double largest = -INFINITY;
      for (int i = 0; i < kBlockSites; ++i) {
        const bool absent = i >= count || removed >> i & 1;
        const double log_weight = absent ? -INFINITY : weights.log_site_weight(i, x[i]);
        largest = std::max(largest, log_weight);
        EXPECT_EQ(weight[i], scaled_weight(log_weight, scale));
      }
      EXPECT_EQ(scale, block_scale(largest));
    }
  }
}

}  // namespace
}  // namespace isinglass
