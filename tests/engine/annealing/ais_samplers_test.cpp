// Annealing by every sampler of the registry, against the log Z of all states of small targets; and
// resumed where the model moves parts of its evaluation along with the chains.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/ais.h"
#include "engine/registry.h"
#include "models/network/rbm.h"
#include "tests/reference/enumeration.h"
#include "tests/reference/tiny_target.h"

namespace isinglass::ais_samplers_test {
namespace {

constexpr int kSites = 4;

class AisSamplers : public testing::TestWithParam<int> {};

SamplerOptions small_options(const SamplerEntry& entry) {
  SamplerOptions options;
  if (entry.option("radius")) options.radius = 2;  // four sites
  if (entry.option("block")) options.block = 2;
  return options;
}

// Binary (2) or categorical values: each of about twenty estimates is within 4 standard errors.
TEST_P(AisSamplers, FindLogZOfATinyTarget) {
  const reference::TinyTarget tiny{kSites, GetParam(), 1.5};
  double z = 0;
  for (const auto& x : reference::StateTable(kSites, GetParam()).states) {
    z += std::exp(-tiny.energy(x));
  }
  int tried = 0;
  for (const SamplerEntry& entry : sampler_registry()) {
    reference::TinyModel model(tiny);
    if (!entry.fits(model)) continue;
    SCOPED_TRACE(entry.name);
    ++tried;
    const auto sampler = make_sampler(entry.name, small_options(entry), model);
    ASSERT_TRUE(sampler->exact());
    const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
    const AisResult found =
        AnnealedImportanceSampling(model, *sampler, start,
                                   {.chains = 300, .temperatures = 300, .seed = 8}, torch::kCPU)
            .run();
    EXPECT_TRUE(found.finished);
    EXPECT_GT(found.acceptance, 0);
    EXPECT_GT(found.log_z_se, 0);
    EXPECT_LT(found.log_z_se, 0.1);
    EXPECT_NEAR(found.log_z, std::log(z), 4 * found.log_z_se);
  }
  EXPECT_GT(tried, 10);
}

INSTANTIATE_TEST_SUITE_P(Values, AisSamplers, testing::Values(2, 3),
                         testing::PrintToStringParamName());

// An RBM's hidden inputs move with its chains, and a resumed run computes them anew. They are
// float64 sums of float32 weights, which are exact, so that the run is the same bit for bit.
TEST(AisResumeRbm, ContinuesBitForBit) {
  torch::manual_seed(5);
  RbmModel model(0.3 * torch::randn({40, 70}), 0.3 * torch::randn({70}), 0.3 * torch::randn({40}));
  const Factorised start = Factorised::bernoulli(torch::full({70}, 0.4));
  for (const char* name : {"gibbs", "gwg", "pafs", "lb", "rwm"}) {
    const auto sampler = make_sampler(name, {}, model);
    const AisOptions options{.chains = 20, .temperatures = 80, .seed = 9, .curve = {20}};
    AnnealedImportanceSampling whole(model, *sampler, start, options, torch::kCPU);
    const AisResult expected = whole.run();
    for (const int stop_after : {1, 17, 60, 99}) {
      SCOPED_TRACE(fmt::format("{} after {}", name, stop_after));
      AnnealedImportanceSampling first(model, *sampler, start, options, torch::kCPU);
      first.run({}, [&] { return first.steps_done() == stop_after; });
      AnnealedImportanceSampling second(model, *sampler, start, options, torch::kCPU);
      second.restore(first.checkpoint());
      const AisResult resumed = second.run();
      EXPECT_TRUE(torch::equal(resumed.x, expected.x));
      EXPECT_TRUE(torch::equal(resumed.log_weights, expected.log_weights));
      EXPECT_EQ(resumed.log_z, expected.log_z);
      EXPECT_EQ(resumed.energy_evaluations, expected.energy_evaluations);
    }
  }
}

}  // namespace
}  // namespace isinglass::ais_samplers_test
