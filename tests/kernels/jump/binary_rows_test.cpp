// Draws and scores of a chain of binary sites in vectors, bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/base/differences.h"
#include "kernels/jump/fast/binary_rows_cpu.h"

namespace isinglass::binary_rows_test {
namespace {

// A chain of binary sites at once against its sites one by one, whatever its length.
TEST(BinaryRows, FlipsEqualSingleSites) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal(0, 3);
  for (int n = 0; n < 16 * 20; ++n) {
    const int64_t sites = n % 3 ? 1 + n : 128 * (1 + n % 4);
    std::vector<float> gradient(sites);
    std::vector<uint8_t> x(sites), y(sites);
    for (int64_t i = 0; i < sites; ++i) {
      gradient[i] = normal(random);
      x[i] = random() % 2;
    }
    const auto rule = static_cast<JumpRule>(n % 4);
    const BinaryJumpParameters time({1, sites, 2, false, rule, static_cast<Balancing>(n / 4 % 4)},
                                    .7);
    const PhiloxStream draws{77, 3, static_cast<uint32_t>(n)};
    const double q = cpu::draw_flips(time, gradient.data(), x.data(), draws, sites, y.data());
    double log_q = 0;
    for (int64_t i = 0; i < sites; ++i) {
      const float d = flip_difference(gradient[i], x[i]);
      const int32_t threshold = flip_threshold(time, d);
      const uint32_t word = draws.site_word(Purpose::kSiteValue, static_cast<uint32_t>(i));
      const bool flipped = flips(word, threshold);
      log_q += std::log(outcome_weight(threshold, flipped, d) / kFlipWhole);
      EXPECT_EQ(y[i], x[i] ^ flipped);
    }
    EXPECT_NEAR(q, log_q, 1e-13 * std::max(1.0, -log_q));
    EXPECT_EQ(cpu::score_flips(time, gradient.data(), x.data(), y.data(), sites), q);
  }
}

}  // namespace
}  // namespace isinglass::binary_rows_test
