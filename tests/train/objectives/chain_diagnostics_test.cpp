// The diagnostics of persistent chains, against values computed here from the chains themselves.
#include "train/objectives/chain_diagnostics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/registry.h"
#include "io/error.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd_objective.h"

namespace isinglass::chain_diagnostics_test {
namespace {

class SignalsTest : public testing::Test {
 protected:
  static constexpr int64_t kLag = 100, kEvery = 200;  // iterations

  SignalsTest() : model_(9), sampler_(make_sampler("gwg", {}, model_)), data_(bars_and_stripes(3)) {
    data_.validation = data_.train.narrow(0, 3, 7).clone();
  }

  // 25 slots; an iteration draws 5 of them, which make 50 steps: L = 1000 · 25 / (5 · 50) = 100.
  std::unique_ptr<PcdObjective> objective(const PcdOptions& options = {
                                              .batch = 5, .buffer = 25, .steps = 50, .seed = 3}) {
    return std::make_unique<PcdObjective>(model_, *sampler_, data_, options, /*iterations=*/1000,
                                          torch::kCPU);
  }

  // Returns the diagnostics of iteration t, by name.
  std::map<std::string, double> advance(PcdObjective& objective, int64_t t) {
    Batch batch = objective.draw(model_, t);
    std::map<std::string, double> seen;
    for (const auto& [name, value] : batch.metrics) seen[name] = value;
    objective.keep(std::move(batch));
    return seen;
  }

  SineModel model_;
  std::unique_ptr<Sampler> sampler_;
  Dataset data_;
};

TEST_F(SignalsTest, CountsTheSlotsThatWereNeverDrawn) {
  const auto pcd = objective({.batch = 1, .buffer = 250, .steps = 1, .seed = 3});
  const ReplayBuffer same(clamped_mean(data_), 250, 3);
  std::vector<bool> drawn(250);
  for (int64_t t = 1; t <= 2 * kEvery; ++t) {
    drawn[static_cast<size_t>(same.draw_slots(1, t).item<int64_t>())] = true;
    const auto seen = advance(*pcd, t);
    ASSERT_EQ(seen.count("never_visited"), t % kEvery == 0);
    if (t % kEvery != 0) continue;
    const auto never = static_cast<double>(std::count(drawn.begin(), drawn.end(), false));
    EXPECT_DOUBLE_EQ(seen.at("never_visited"), never / 250);
    EXPECT_GT(never, 0);
  }
}

TEST_F(SignalsTest, ValidationImagesAreTheFirstFiveHundred) {
  data_.validation = data_.train.repeat({40, 1});  // 640
  const auto pcd = objective();
  for (int64_t t = 1; t <= kEvery; ++t) {
    const auto seen = advance(*pcd, t);
    ASSERT_EQ(seen.count("energy_validation"), t == kEvery);
    if (t != kEvery) continue;
    const torch::Tensor energy = model_.energy(data_.validation.narrow(0, 0, 500));
    EXPECT_NEAR(seen.at("energy_validation"), energy.mean().item<double>(), 1e-12);
  }
  data_.validation = data_.validation.narrow(0, 0, 0);
  const auto without = objective();
  for (int64_t t = 1; t <= kEvery; ++t) {
    EXPECT_EQ(advance(*without, t).count("energy_validation"), 0);
  }
}

// Pearson's correlation of the first 16 chains' energies a hundred iterations apart, for the chains
// as the previous iteration has left them.
TEST_F(SignalsTest, AutocorrelationIsOfStatesAThousandStepsApart) {
  const auto pcd = objective();
  torch::Tensor earlier;
  for (int64_t t = 1; t <= 3 * kLag; ++t) {
    const torch::Tensor before = pcd->chains().narrow(0, 0, 16).clone();
    const auto seen = advance(*pcd, t);
    ASSERT_EQ(seen.count("autocorrelation"), t % kLag == 0 && t > kLag) << t;
    if (t % kLag != 0) continue;
    if (earlier.defined()) {
      const auto energies = [&](const torch::Tensor& x) {
        const torch::Tensor all = model_.energy(x).detach().to(torch::kFloat64).contiguous();
        return std::vector<double>(all.data_ptr<double>(), all.data_ptr<double>() + 16);
      };
      const std::vector<double> a = energies(earlier), b = energies(before);
      double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
      for (size_t i = 0; i < 16; ++i) {
        sa += a[i], sb += b[i], saa += a[i] * a[i], sbb += b[i] * b[i], sab += a[i] * b[i];
      }
      const double expected =
          (16 * sab - sa * sb) / std::sqrt((16 * saa - sa * sa) * (16 * sbb - sb * sb));
      EXPECT_NEAR(seen.at("autocorrelation"), expected, 1e-9);
      EXPECT_LT(std::abs(expected), 0.99);
    }
    earlier = before;
  }
}

// The mean over all pairs of chains of the number of sites in which they differ, over that of the
// images.
TEST_F(SignalsTest, SpreadIsOfPairs) {
  const auto differ = [](const torch::Tensor& x) {
    return x.unsqueeze(0).ne(x.unsqueeze(1)).sum(2).to(torch::kFloat64).mean().item<double>();
  };
  const auto pcd = objective();
  for (int64_t t = 1; t <= 2 * kEvery; ++t) {
    const torch::Tensor before = pcd->chains().clone();
    const auto seen = advance(*pcd, t);
    ASSERT_EQ(seen.count("spread"), t % kEvery == 0);
    if (t % kEvery != 0) continue;
    EXPECT_NEAR(seen.at("spread"), differ(before) / differ(data_.train), 1e-12);
    pcd->chains().fill_(1);
  }
  const auto reported = [&](const Dataset& data, const torch::Tensor& chains) {
    ChainDiagnostics diagnostics(data, {.batch = 5, .buffer = 25, .steps = 50}, torch::kCPU);
    ReplayBuffer buffer(clamped_mean(data), 25, 3);
    buffer.states().copy_(chains);
    diagnostics.update(model_, buffer, torch::arange(5), kEvery);
    const std::map<std::string, double> seen(diagnostics.seen().begin(), diagnostics.seen().end());
    return seen.contains("spread") ? seen.at("spread") : NAN;
  };
  const Dataset categorical = categorical_images(25, 3, 3, 4);
  const torch::Tensor chains = categorical.train.flip(1);
  EXPECT_NEAR(reported(categorical, chains), differ(chains) / differ(categorical.train), 1e-12);
  // Every third of 3000 images, which are in the order of two classes, is compared.
  Dataset classes = bars_and_stripes(3);
  classes.train = torch::cat({torch::zeros({1500, 9}), torch::ones({1500, 9})}).to(torch::kUInt8);
  EXPECT_NEAR(reported(classes, chains.clamp_max(1)), differ(chains.clamp_max(1)) / 4.5, 1e-12);
  classes.train.fill_(1);
  EXPECT_TRUE(std::isnan(reported(classes, chains.clamp_max(1))));  // the images are all the same
}

TEST_F(SignalsTest, GoOnWhereACheckpointHasThem) {
  const auto whole = objective(), late = objective();
  for (int64_t t = 1; t <= 150; ++t) advance(*whole, t);
  const auto restored = [&](const NamedTensors& carried) {
    auto other = objective();
    other->load_state(carried, "file");
    other->chains().copy_(whole->chains());
    return other;
  };
  const auto part = restored(whole->saved_state()), old = restored({});
  for (int64_t t = 151; t <= 2 * kLag; ++t) {
    const auto seen = advance(*whole, t);
    EXPECT_EQ(advance(*part, t), seen);
    auto rest = seen;  // of a checkpoint without them: what is not known is not reported
    rest.erase("never_visited"), rest.erase("autocorrelation");
    EXPECT_EQ(advance(*old, t), rest);
  }
  NamedTensors damaged = whole->saved_state();
  ASSERT_EQ(damaged.size(), 2u);
  damaged[0].second = torch::zeros({24}, torch::kUInt8);
  EXPECT_ERROR(late->load_state(damaged, "file"), "file: the tensor 'visited' does not have");
}

// Contrastive divergence has no chains that persist.
TEST_F(SignalsTest, WithoutABufferThereAreValidationImagesAlone) {
  const auto cd = objective({.batch = 5, .buffer = 25, .steps = 50, .from_data = true});
  for (int64_t t = 1; t <= 2 * kLag; ++t) {
    const auto seen = advance(*cd, t);
    EXPECT_EQ(seen.size(), t == kEvery ? 1u : 0u);
  }
  EXPECT_TRUE(cd->saved_state().empty());
}

}  // namespace
}  // namespace isinglass::chain_diagnostics_test
