// Weights of a block of binary sites, or of the values of a site, computed at once and one by one,
// bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/path/fast/block_weights_cpu.h"
#include "kernels/path/fast/row_weights_cpu.h"
#include "kernels/path/move_weights.h"

namespace isinglass::block_weights_test {
namespace {

// This property makes a step that refreshes some weights equal to one that computes all again.
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
      const BinaryGradientWeights weights{{gradient, static_cast<Balancing>(g)}};
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

TEST(RowWeights, EqualThoseOfSingleValues) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal(0, 8);
  for (const int values : {2, 3, 16, 17, 31, 32, 33, 100, 255, 256}) {
    std::vector<float> table(3 * values);
    for (float& number : table) number = normal(random);
    table[values] = 700;
    table[2 * values] = -INFINITY;  // with exact differences, a value that is never proposed
    for (int g = 0; g < 4; ++g) {
      const auto balancing = static_cast<Balancing>(g);
      const CategoricalGradientWeights categorical{{table.data(), balancing, values, 0.7f}};
      const OrderedGradientWeights ordered{{table.data(), balancing, values}};
      const ExactValueWeights exact{{table.data(), balancing, values, 1.3f}};
      for (int site = 0; site < 3; ++site) {
        const int from = static_cast<int>(random() % values);
        EXPECT_EQ(cpu::log_row_sum(ordered, site, from), ordered.log_site_weight(site, from));
        EXPECT_EQ(cpu::log_row_sum(exact, site, from), exact.log_site_weight(site, from));
        if (site == 2) continue;
        EXPECT_EQ(cpu::log_row_sum(categorical, site, from),
                  categorical.log_site_weight(site, from))
            << values << " values, " << g;
      }
    }
  }
}

}  // namespace
}  // namespace isinglass::block_weights_test
