// Defaults of samplers' options on tiny models: a default is never refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "io/error.h"
#include "tests/models/samples.h"
#include "tests/support/scratch.h"

namespace isinglass::sampler_defaults_test {
namespace {

constexpr int64_t kChains = 20;

torch::Tensor numbers(torch::IntArrayRef shape) {
  return torch::linspace(-1, 1, c10::multiply_integers(shape)).view(shape);
}

// One model for each kind of state, and two with many values.
std::vector<ModelSample> models_of(int64_t sites) {
  std::vector<ModelSample> models = {
      {.label = "binary", .model = "bernoulli", .tensors = {{"theta", numbers({sites})}}},
      {.label = "three", .model = "categorical", .tensors = {{"theta", numbers({sites, 3})}}},
      {.label = "many", .model = "categorical", .tensors = {{"theta", numbers({sites, 256})}}},
      {.label = "ordered",
       .model = "lattice-gaussian",
       .tensors = {{"precision", torch::eye(sites)}, {"mean", torch::full({sites}, 1.5)}},
       .options = {.categories = 4}},
      {.label = "continuous",
       .model = "gaussian",
       .tensors = {{"mean", numbers({sites})}, {"precision", torch::ones({sites})}}}};
  if (sites > 1) {
    models.push_back({.label = "permutation",
                      .model = "permutation",
                      .tensors = {{"w", numbers({sites, sites})}}});
  }
  return models;
}

void take_steps(const Sampler& sampler, EnergyModel& model) {
  const torch::Tensor ids = torch::arange(kChains);
  ChainState state = sampler.init(model, random_states(model.space(), ids, 3, torch::kCPU), ids);
  StepParams params = sampler.params(5, torch::kCPU);
  for (int t = 0; t < 3; ++t) sampler.step(model, state, params);
  EXPECT_TRUE(state.current.energy.isfinite().all().item<bool>());
}

// A larger number would repeat the random numbers of another chain.
TEST(ChainNumbers, HaveThirtyTwoBits) {
  const auto model = load_sample(models_of(3).front());
  const auto sampler = make_sampler("gwg", {}, *model);
  const torch::Tensor x = torch::zeros({2, 3}, torch::kUInt8);
  const auto start = [&](int64_t first, int64_t second) {
    sampler->init(*model, x, torch::tensor({first, second}, torch::kInt64));
  };
  const int64_t most = (int64_t{1} << 32) - 1;
  EXPECT_NO_THROW(start(0, most));
  EXPECT_ERROR(start(0, most + 1),
               "a chain has the number 4294967296; 0 to 4294967295 are allowed");
  EXPECT_ERROR(start(-1, 2), "a chain has the number -1");
}

TEST(SamplerDefaults, FitEveryModel) {
  int made = 0;
  std::vector<std::string> refused;
  for (const int64_t sites : {1, 2, 3, 8}) {
    for (const ModelSample& sample : models_of(sites)) {
      const auto model = load_sample(sample);
      for (const SamplerEntry& entry : sampler_registry()) {
        if (!entry.fits(*model)) continue;
        SCOPED_TRACE(fmt::format("{} on {} of {} sites", entry.name, sample.label, sites));
        try {
          take_steps(*make_sampler(entry.name, {}, *model), *model);
          ++made;
        } catch (const Error& error) {
          const std::string sentence = error.what();
          EXPECT_EQ(sentence.find("--"), std::string::npos) << sentence;  // no option was given
          refused.push_back(entry.name + " " + sample.label);
        }
      }
    }
  }
  EXPECT_GT(made, 200);
  for (const std::string& who : refused) EXPECT_EQ(who, "lbjb many");  // K values, at most 64
}

std::optional<double> default_of(const std::string& sampler, const SamplerOptions& given,
                                 const EnergyModel& model,
                                 std::optional<double> SamplerOptions::* member) {
  return with_defaults(find_sampler(sampler), given, model).*member;
}

TEST(SamplerDefaults, AreCutToTheModel) {
  const auto binary = [](int64_t sites) { return load_sample(models_of(sites)[0]); };
  EXPECT_EQ(default_of("nb", {}, *binary(8), &SamplerOptions::radius), 4.5);
  EXPECT_EQ(default_of("nb", {}, *binary(1), &SamplerOptions::radius), 1);
  EXPECT_EQ(default_of("nb", {}, *binary(50), &SamplerOptions::radius), 5);
  EXPECT_EQ(default_of("block-gibbs", {}, *binary(1), &SamplerOptions::block), 1);
  EXPECT_EQ(default_of("block-gibbs", {}, *binary(8), &SamplerOptions::block), 2);
  EXPECT_EQ(default_of("hamming-ball", {}, *binary(3), &SamplerOptions::block), 3);
  EXPECT_EQ(default_of("hamming-ball", {}, *binary(50), &SamplerOptions::block), 10);
  const auto many = load_sample(models_of(8)[2]);
  EXPECT_EQ(default_of("block-gibbs", {}, *many, &SamplerOptions::block), 1);
  // Σ_j C(m, j) 2^j for j ≤ 5 is 3489 on 8 sites of three values, 6883 on 9; 4096 is the limit.
  const auto three = load_sample(models_of(50)[1]);
  EXPECT_EQ(default_of("hamming-ball", {.radius = 1}, *three, &SamplerOptions::block), 10);
  EXPECT_EQ(default_of("hamming-ball", {.radius = 5}, *three, &SamplerOptions::block), 8);
}

TEST(SamplerDefaults, DoNotSoftenWhatIsGiven) {
  const auto model = load_sample(models_of(8)[0]);
  EXPECT_THROW(make_sampler("nb", {.radius = 5}, *model), Error);
  EXPECT_THROW(make_sampler("rwm", {.radius = 9}, *model), Error);
  EXPECT_THROW(make_sampler("block-gibbs", {.block = 9}, *model), Error);
  EXPECT_THROW(make_sampler("hamming-ball", {.block = 9}, *model), Error);
  EXPECT_THROW(make_sampler("hamming-ball", {.radius = 9}, *model), Error);
}

}  // namespace
}  // namespace isinglass::sampler_defaults_test
