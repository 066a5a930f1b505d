// kernels/jump/jump.cu against jump_cpu.cpp: the same states and log q, bit for bit.
#include "kernels/jump/jump.h"

#include "tests/simt/twins.h"

namespace isinglass {
namespace {

struct Outcome {
  std::vector<uint8_t> y;
  std::vector<double> forward, backward;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const JumpShape& s, double gradient_scale, Twin twin) {
  const bool cpu = twin == Twin::kCpu;
  Inputs inputs(5);
  const int64_t width = s.one_hot ? s.categories : 1;
  const auto x = inputs.states(s.chains * s.sites, s.categories);
  const auto at_x = inputs.reals<float>(s.chains * s.sites * width, gradient_scale);
  const auto at_y = inputs.reals<float>(s.chains * s.sites * width, gradient_scale);
  const auto ids = inputs.ids(s.chains);
  const int64_t rng[] = {99, 4};
  const double time = 0.7;
  Outcome o{x, std::vector<double>(s.chains), std::vector<double>(s.chains)};
  (cpu ? cpu::draw_jump : cuda::draw_jump)(s, x.data(), at_x.data(), rng, ids.data(), &time,
                                           o.y.data(), o.forward.data(), nullptr);
  (cpu ? cpu::score_jump : cuda::score_jump)(s, o.y.data(), at_y.data(), x.data(), &time,
                                             o.backward.data(), nullptr);
  return o;
}

void expect_equal_twins(const JumpShape& shape, double gradient_scale) {
  SCOPED_TRACE(testing::Message() << shape.sites << " sites, K " << shape.categories << ", rule "
                                  << static_cast<int>(shape.rule) << ", g "
                                  << static_cast<int>(shape.balancing));
  expect_twins([&](Twin twin) { return run(shape, gradient_scale, twin); });
}

constexpr JumpRule kRules[] = {JumpRule::kInterpolation, JumpRule::kForwardEuler,
                               JumpRule::kBackwardEuler, JumpRule::kLangevin};

TEST(JumpTwins, DrawAndScoreAlike) {
  for (const Size& size : sizes()) {
    for (const JumpRule rule : kRules) {
      for (int g = 0; g < 4; ++g) {
        const auto balancing = static_cast<Balancing>(g);
        const double gradient_scale = g % 2 ? 1.0 : 150.0;
        expect_equal_twins({size.chains, size.sites, 2, false, rule, balancing}, gradient_scale);
        if (size.sites > 100 && rule == JumpRule::kBackwardEuler) continue;
        expect_equal_twins({size.chains, size.sites, 3, true, rule, balancing}, gradient_scale);
      }
    }
  }
}

// There are more blocks of sites than a tile holds.
TEST(JumpTwins, ManySites) {
  simt::set_schedule({});
  for (const int categories : {2, 3}) {
    const JumpShape shape{
        1, 40000, categories, categories > 2, JumpRule::kInterpolation, Balancing::kSqrt};
    EXPECT_TRUE(run(shape, 1, Twin::kCuda) == run(shape, 1, Twin::kCpu));
  }
}

// Ordered values, and systems that leave room for one warp only.
TEST(JumpTwins, ManyValues) {
  for (const JumpRule rule : kRules) {
    expect_equal_twins({2, 33, 5, false, rule, Balancing::kBarker}, 2);
    const bool solved = rule == JumpRule::kBackwardEuler;
    expect_equal_twins({1, 3, solved ? kMaxSolvedCategories : 256, true, rule, Balancing::kSqrt},
                       2);
  }
}

}  // namespace
}  // namespace isinglass
