// kernels/network/resnet_pass.cu against resnet_pass_cpu.cpp: the gradients bit for bit, the
// outputs within the rounding of their float64 sums.
#include "kernels/network/resnet_pass.h"

#include "tests/simt/twins.h"

namespace isinglass {
namespace {

struct Result {
  std::vector<double> net;
  std::vector<float> at_image;
};

struct Net {
  ResNetShape shape;
  std::vector<float> weights, images;
  int64_t chains;

  // The weights have a size for which the signal neither vanishes nor grows.
  Net(const ResNetShape& shape, int64_t chains) : shape(shape), chains(chains) {
    Inputs inputs(5);
    weights = inputs.reals<float>(ResNetWeights::count(shape),
                                  1 / std::sqrt(9.0 * static_cast<double>(shape.channels)));
    images = inputs.reals<float>(chains * shape.pixels(), 1);
  }

  Result run(Twin twin, bool gradient) const {
    Result out{std::vector<double>(chains, NAN),
               std::vector<float>(gradient ? chains * shape.pixels() : 0, NAN)};
    std::vector<float> scratch(gradient ? cuda::resnet_pass_scratch(shape, chains) : 0, NAN);
    const auto run_with = [&](auto pass) {
      pass(shape, chains, weights.data(), images.data(), scratch.data(), out.net.data(),
           gradient ? out.at_image.data() : nullptr, nullptr);
    };
    twin == Twin::kCpu ? run_with(cpu::resnet_pass) : run_with(cuda::resnet_pass);
    return out;
  }

  void expect_alike() const {
    const Result expected = run(Twin::kCpu, true);
    for (const simt::Schedule& schedule : schedules()) {
      simt::set_schedule(schedule);
      for (const bool gradient : {true, false}) {
        const Result result = run(Twin::kCuda, gradient);
        for (int64_t b = 0; b < chains; ++b) {
          EXPECT_NEAR(result.net[b], expected.net[b], 1e-12);
          EXPECT_GT(std::abs(expected.net[b]), 1e-3);
        }
        if (gradient) {
          EXPECT_TRUE(result.at_image == expected.at_image)
              << "order " << static_cast<int>(schedule.order);
        }
      }
    }
    simt::set_schedule({});
  }
};

TEST(ResNetPassTwins, Alike) {
  Net({.height = 28, .width = 28, .inputs = 1, .channels = 16}, 1).expect_alike();
  Net({.height = 12, .width = 20, .inputs = 3, .channels = 16, .linear_head = true}, 2)
      .expect_alike();
  Net({.height = 18, .width = 10, .inputs = 1, .channels = 32}, 1).expect_alike();
  Net({.height = 2, .width = 4, .inputs = 2, .channels = 16}, 3).expect_alike();
  Net({.height = 8, .width = 16, .inputs = 1, .channels = 64, .linear_head = true}, 1)
      .expect_alike();
}

// A block computes a second chain if there are more than fit the device.
TEST(ResNetPassTwins, AChainDoesNotDependOnTheOthers) {
  const ResNetShape shape{.height = 4, .width = 2, .inputs = 1, .channels = 64};
  const int64_t blocks = cuda::resnet_pass_together(shape);
  const Net many(shape, 2 * blocks);
  simt::set_schedule({.first_block = static_cast<unsigned>(blocks - 1)});
  const Result all = many.run(Twin::kCuda, true);
  simt::set_schedule({});
  Net one(shape, 1);
  one.weights = many.weights;
  const int64_t last = many.chains - 1;
  one.images.assign(many.images.begin() + last * shape.pixels(), many.images.end());
  const Result alone = one.run(Twin::kCuda, true);
  EXPECT_EQ(alone.net[0], all.net[last]);
  EXPECT_TRUE(std::equal(alone.at_image.begin(), alone.at_image.end(),
                         all.at_image.begin() + last * shape.pixels()));
}

TEST(ResNetPassTwins, ServesWhatFitsTheDevice) {
  const auto serves = [](int64_t side, int64_t channels, int64_t shared_memory) {
    return resnet_pass_serves({.height = side, .width = side, .inputs = 1, .channels = channels},
                              shared_memory);
  };
  EXPECT_TRUE(serves(28, 64, simt::kHopper));
  EXPECT_TRUE(serves(28, 64, simt::kAmpere));
  EXPECT_FALSE(serves(28, 64, simt::kVolta));
  EXPECT_TRUE(serves(28, 32, simt::kVolta));
  EXPECT_TRUE(serves(28, 16, simt::kTuring));
  EXPECT_FALSE(serves(30, 64, simt::kHopper));
  EXPECT_FALSE(serves(27, 64, simt::kHopper));
  EXPECT_FALSE(serves(28, 48, simt::kHopper));
}

}  // namespace
}  // namespace isinglass
