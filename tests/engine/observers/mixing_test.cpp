// Statistics that tell chains in different modes apart where the energy does not.
#include "engine/observers/mixing.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isinglass::mixing_test {
namespace {

StateSpace space_of(int64_t sites, int64_t categories) {
  const StateKind kind = categories == 2 ? StateKind::kBinary : StateKind::kCategorical;
  return {.kind = kind, .sites = sites, .categories = categories};
}

// 0 and 1 by the parity of the index, and by that of the sum of some coordinates of a lattice of
// side^axes sites.
std::vector<torch::Tensor> patterns(int64_t side, int64_t axes) {
  torch::Tensor rest = torch::arange(static_cast<int64_t>(std::lround(std::pow(side, axes))));
  std::vector<torch::Tensor> all = {torch::zeros_like(rest), rest % 2};
  std::vector<torch::Tensor> sums = {torch::zeros_like(rest)};
  for (int64_t axis = 0; axis < axes; ++axis) {
    const auto before = std::ssize(sums);
    for (int64_t n = 0; n < before; ++n) sums.push_back(sums[n] + rest % side);
    rest = torch::div(rest, side, "floor");
  }
  for (size_t n = 1; n < sums.size(); ++n) all.push_back(sums[n] % 2);
  return all;
}

double distance(const torch::Tensor& fixed, const torch::Tensor& x) {
  return (fixed.flatten() != x).sum().item<double>();
}

// Changes of all values, changes of the values of a sublattice, and translations turn a pattern
// into a different one, on lattices of side^axes sites.
TEST(HammingReference, KnowsImagesUnderTheSymmetriesOfLattices) {
  const std::vector<std::pair<int64_t, std::vector<int64_t>>> lattices = {
      {2, {3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 32, 50}}, {3, {3, 4, 5, 6, 8, 10, 12}}};
  for (const auto& [axes, sides] : lattices) {
    for (const int64_t side : sides) {
      const auto sites = static_cast<int64_t>(std::lround(std::pow(side, axes)));
      for (const int64_t categories : {2, 3, 4}) {
        // Too few sites have too few distances.
        if (sites < std::pow(6 * (categories - 1) - 6, 2)) continue;
        SCOPED_TRACE(testing::Message() << side << "^" << axes << " " << categories);
        const torch::Tensor fixed = hamming_reference(space_of(sites, categories), torch::kCPU);
        for (int64_t a = 0; a < categories; ++a) {
          for (int64_t b = 0; b < a; ++b) {
            for (const torch::Tensor& pattern : patterns(side, axes)) {
              const torch::Tensor first = torch::where(pattern == 0, a, b);
              const torch::Tensor second = torch::where(pattern == 0, b, a);
              EXPECT_NE(distance(fixed, first), distance(fixed, second));
            }
          }
        }
      }
    }
  }
}

// Frozen halves of the chains, all up and all down: their energies are equal.
TEST(MixingWatch, SeesAGlobalFlip) {
  for (const int64_t side : {4, 8}) {
    const StateSpace space = space_of(side * side, 2);
    ChainState state;
    state.x = torch::zeros({16, side * side}, torch::kUInt8);
    state.x.slice(0, 8).fill_(1);
    state.statistics = Statistics::create(16, torch::kCPU);
    MixingWatch watch(space, {.steps = 2000}, 16, torch::kCPU);
    for (int64_t draw = 0; draw < 2000; ++draw) {
      state.statistics.hops.zero_().slice(0, 0, draw % 2 == 0 ? 4 : 0).fill_(3);
      watch.on_draw(draw, state);
    }
    watch.on_end();
    ASSERT_EQ(watch.rhats().size(), 2);
    for (const auto& [name, rhat] : watch.rhats()) EXPECT_TRUE(std::isinf(rhat)) << name;
  }
}

TEST(MixingWatch, CountsTheStepsThatChangedTheState) {
  ChainState state;
  state.x = torch::zeros({4, 3}, torch::kUInt8);
  state.statistics = Statistics::create(4, torch::kCPU);
  MixingWatch watch(space_of(3, 2), {.steps = 60, .thin = 3}, 4, torch::kCPU);
  EXPECT_TRUE(std::isnan(watch.moved()));
  for (int64_t draw = 0; draw < 20; ++draw) {
    state.statistics.hops[0] = draw % 2;  // one chain, in every second step
    watch.on_draw(draw, state);
  }
  watch.on_end();
  EXPECT_DOUBLE_EQ(watch.moved(), 0.125);
}

}  // namespace
}  // namespace isinglass::mixing_test
