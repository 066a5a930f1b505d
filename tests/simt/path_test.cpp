// kernels/path/first_order_path.cu against first_order_path_cpu.cpp: the same paths, states and log
// q, bit for bit.
#include <algorithm>

#include "kernels/path/first_order_path.h"
#include "kernels/path/move_weights.h"
#include "tests/simt/ring.h"

namespace isinglass {
namespace {

struct Outcome {
  std::vector<uint8_t> y, from, to;
  std::vector<int32_t> length, site;
  std::vector<double> forward, backward;
  bool operator==(const Outcome&) const = default;
};

struct PathCase {
  PathShape shape;
  double radius, scale;
};

Outcome run(const PathCase& c, Twin twin) {
  const PathShape& s = c.shape;
  const bool cpu = twin == Twin::kCpu;
  Inputs inputs(5);
  const int64_t width = s.one_hot ? s.categories : 1, moves = s.chains * s.max_length;
  const auto x = inputs.states(s.chains * s.sites, s.categories);
  const auto at_x = inputs.reals<float>(s.chains * s.sites * width, c.scale);
  const auto at_y = inputs.reals<float>(s.chains * s.sites * width, c.scale);
  const auto ids = inputs.ids(s.chains);
  const int64_t rng[] = {99, 4};
  std::vector<double> sums(s.chains * sums_scratch(s.sites));
  Outcome o{x,
            std::vector<uint8_t>(moves),
            std::vector<uint8_t>(moves),
            std::vector<int32_t>(s.chains),
            std::vector<int32_t>(moves),
            std::vector<double>(s.chains),
            std::vector<double>(s.chains)};
  const Paths paths{o.length.data(), o.site.data(), o.from.data(), o.to.data(), sums.data()};
  (cpu ? cpu::draw_path : cuda::draw_path)(s, x.data(), at_x.data(), rng, ids.data(), &c.radius,
                                           o.y.data(), paths, o.forward.data(), nullptr);
  (cpu ? cpu::score_path : cuda::score_path)(s, o.y.data(), at_y.data(), paths, o.backward.data(),
                                             nullptr);
  return o;
}

TEST(PathTwins, DrawAndScoreAlike) {
  for (const Size& size : sizes()) {
    for (const int categories : {2, 5}) {
      for (const PathRule rule :
           {PathRule::kFrozen, PathRule::kLinearised, PathRule::kNoBacktrack}) {
        for (int g = 0; g < 4; ++g) {
          const bool one_hot = categories > 2 || g % 2;
          const PathShape shape{size.chains,
                                size.sites,
                                categories,
                                one_hot,
                                rule,
                                static_cast<Balancing>(g),
                                std::min<int64_t>(5, size.sites)};
          for (const double scale : {1.0, 150.0}) {
            SCOPED_TRACE(testing::Message() << size.sites << " sites, K " << categories << ", rule "
                                            << static_cast<int>(rule) << ", g " << g);
            expect_twins([&](Twin twin) { return run({shape, 3, scale}, twin); });
          }
        }
      }
    }
  }
}

// Two and four chains per block, the last block not full; and one chain, if its shared memory has
// no room for more.
TEST(PathTwins, SeveralChainsABlock) {
  simt::set_schedule(schedules().back());
  for (const auto& [chains, bytes] :
       {std::pair{257, simt::kTuring}, {514, simt::kTuring}, {514, int64_t{600}}}) {
    const SharedMemory limit(bytes);
    const PathShape shape{chains, 33, 2, false, PathRule::kNoBacktrack, Balancing::kSqrt, 2};
    EXPECT_TRUE(run({shape, 1.5, 1.0}, Twin::kCuda) == run({shape, 1.5, 1.0}, Twin::kCpu));
  }
  simt::set_schedule({});
}

// Lanes draw the numbers of 32 moves at once.
TEST(PathTwins, LongPaths) {
  for (const PathRule rule : {PathRule::kLinearised, PathRule::kNoBacktrack}) {
    const PathShape shape{6, 100, 2, false, rule, Balancing::kSqrt, 79};
    expect_twins([&](Twin twin) { return run({shape, 40, 1.0}, twin); });
  }
}

// Covers sums that do not fit into a block's shared memory.
TEST(PathTwins, SumsInGlobalMemory) {
  const SharedMemory limit(600);
  for (const Size& size : {Size{2, 100}, Size{3, 785}, Size{2, 8300}}) {
    for (const PathRule rule : {PathRule::kFrozen, PathRule::kLinearised, PathRule::kNoBacktrack}) {
      const PathShape shape{size.chains, size.sites, 2, false, rule, Balancing::kSqrt, 5};
      expect_twins([&](Twin twin) { return run({shape, 3, 1.0}, twin); });
    }
  }
}

// Sums over values are shared among lanes, so that they are equal up to rounding.
TEST(PathTwins, ManyValues) {
  for (const int categories : {16, 33, 256}) {
    for (const PathRule rule : {PathRule::kFrozen, PathRule::kLinearised, PathRule::kNoBacktrack}) {
      const PathShape shape{2, 35, categories, true, rule, Balancing::kBarker, 5};
      for (const double scale : {2.0, 150.0}) {
        SCOPED_TRACE(testing::Message() << "K " << categories << ", scale " << scale);
        expect_twins([&](Twin twin) {
          const Outcome o = run({shape, 3, scale}, twin);
          return std::tuple(o.y, o.from, o.to, o.length, o.site, Sums{o.forward}, Sums{o.backward});
        });
      }
    }
  }
}

TEST(PathTwins, OrderedValues) {
  for (const Size& size : sizes()) {
    for (const PathRule rule : {PathRule::kFrozen, PathRule::kLinearised, PathRule::kNoBacktrack}) {
      for (int g = 0; g < 4; ++g) {
        const PathShape shape{size.chains,
                              size.sites,
                              7,
                              false,
                              rule,
                              static_cast<Balancing>(g),
                              std::min<int64_t>(5, size.sites)};
        expect_twins([&](Twin twin) { return run({shape, 3, g == 3 ? 60.0 : 1.0}, twin); });
      }
    }
  }
}

}  // namespace
}  // namespace isinglass
