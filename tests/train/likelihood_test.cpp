// Likelihoods of models against enumeration: the start of annealing, base distributions, splits
// that are binarised once, scores of checkpoints, and the random numbers that they use.
#include "train/likelihood.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "models/combined/residual.h"
#include "models/energies.h"
#include "models/lattice/bernoulli.h"
#include "models/network/rbm.h"
#include "models/registry.h"
#include "tests/support/scratch.h"
#include "tests/support/training_fixture.h"
#include "train/objectives/pcd.h"
#include "train/objectives/replay_buffer.h"

namespace isinglass::likelihood_test {
namespace {

// Images of 3×4 pixels, and a base distribution whose mean no data set of these tests has.
constexpr int64_t kHeight = 3, kWidth = 4, kSites = kHeight * kWidth;

torch::Tensor uneven_mean() {
  return 0.5 + 0.4 * torch::sin(1.7 * torch::arange(kSites, torch::kFloat32));
}

std::shared_ptr<EnergyModel> resnet(double scale, const torch::Tensor& base = uneven_mean()) {
  return fresh_network(
      {.image_height = kHeight, .image_width = kWidth, .channels = 4, .base_mean = base}, scale);
}

// Σ_i log Bernoulli(x_i; m_i), mean over the rows, in plain loops.
double plain_bernoulli(const torch::Tensor& mean, const torch::Tensor& x) {
  double sum = 0;
  for (int64_t n = 0; n < x.size(0); ++n) {
    for (int64_t i = 0; i < x.size(1); ++i) {
      const double m = mean[i].item<double>();
      sum += std::log(x[n][i].item<int64_t>() ? m : 1 - m);
    }
  }
  return sum / static_cast<double>(x.size(0));
}

torch::Tensor plain_clamped_mean(const torch::Tensor& pixels, double full) {
  return pixels.to(torch::kFloat64).mean(0) / full * 0.98 + 0.01;
}

AisResult anneal(EnergyModel& model, const Factorised& start, const AisOptions& options) {
  const auto sampler = make_sampler("pafs", {.radius = 2}, model);
  return AnnealedImportanceSampling(model, *sampler, start, options, torch::kCPU).run();
}

// Three splits with means of their own, binary or of grey levels.
Dataset three_splits(PixelValues values) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(8);
  Dataset data;
  data.name = "three";
  data.height = kHeight;
  data.width = kWidth;
  data.values = values;
  const auto split = [&](int64_t images, double level) {
    const torch::Tensor p = level * torch::rand({images, kSites}, generator);
    return values == PixelValues::kBinary ? torch::bernoulli(p, generator).to(torch::kUInt8)
                                          : (255 * p).to(torch::kUInt8);
  };
  data.train = split(400, 0.9);
  data.validation = split(90, 0.6);
  data.test = split(110, 0.3);
  return data;
}

TEST(AnnealingWithABase, LogZIsThatOfEnumeration) {
  const auto model = resnet(20000);
  torch::NoGradGuard no_grad;
  const torch::Tensor states = all_states(kSites);
  const torch::Tensor u = energies(*model, states, torch::kCPU);
  const torch::Tensor base = energies(*resnet(0), states, torch::kCPU);
  ASSERT_GT((u - base).std().item<double>(), 0.5);  // the network has an effect …
  ASSERT_GT(base.std().item<double>(), 1);          // … and the base does
  EXPECT_NEAR(base.mean().item<double>(), -plain_bernoulli(uneven_mean(), states), 1e-4);

  const Dataset other = three_splits(PixelValues::kBinary);
  const Factorised start = annealing_start(*model, &other, torch::kCPU);
  const AisResult ais = anneal(*model, start, {.chains = 200, .temperatures = 500, .seed = 2});
  EXPECT_LT(ais.log_z_se, 0.05);
  EXPECT_NEAR(ais.log_z, torch::logsumexp(-u, 0).item<double>(), 4 * ais.log_z_se);
}

// U = U_0 + constant: every weight is the same from the first step on, whatever the data.
TEST(AnnealingWithABase, OfTheBaseAloneIsExact) {
  const auto model = resnet(0);
  const Dataset other = three_splits(PixelValues::kBinary);
  for (const Dataset* data : {static_cast<const Dataset*>(nullptr), &other}) {
    const Factorised start = annealing_start(*model, data, torch::kCPU);
    const AisResult ais = anneal(*model, start, {.chains = 50, .temperatures = 20, .seed = 2});
    EXPECT_NEAR(ais.log_z, 0, 1e-4);  // float32 energies
    EXPECT_NEAR(ais.weight_ess, 50, 1e-4);
  }
}

TEST(AnnealingStart, IsTheModelsBaseElseTheTrainingMeanElseUniform) {
  const torch::Tensor x = all_states(kSites);
  const Dataset binary = three_splits(PixelValues::kBinary),
                grey = three_splits(PixelValues::kGrey);
  const auto with_base = resnet(1);
  const auto without =
      new_model("rbm", {.image_height = kHeight, .image_width = kWidth, .hidden = 3}, 1);
  const auto start_likelihood = [&](const EnergyModel& model, const Dataset* data) {
    return annealing_start(model, data, torch::kCPU).mean_log_likelihood(x);
  };
  for (const Dataset* data : {static_cast<const Dataset*>(nullptr), &binary, &grey}) {
    EXPECT_NEAR(start_likelihood(*with_base, data), plain_bernoulli(uneven_mean(), x), 1e-5);
  }
  EXPECT_NEAR(start_likelihood(*without, &binary),
              plain_bernoulli(plain_clamped_mean(binary.train, 1), x), 1e-5);
  EXPECT_NEAR(start_likelihood(*without, &grey),
              plain_bernoulli(plain_clamped_mean(grey.train, 255), x), 1e-5);
  EXPECT_NEAR(start_likelihood(*without, nullptr), -kSites * std::log(2.0), 1e-9);
}

TEST(SplitEnergies, AreMeansOverTheSplits) {
  const Dataset data = three_splits(PixelValues::kBinary);
  SineModel model(kSites);
  torch::NoGradGuard no_grad;
  const std::vector<SplitEnergy> splits = *split_energies(model, data, torch::kCPU);
  ASSERT_EQ(splits.size(), 3u);
  const torch::Tensor* images[] = {&data.train, &data.validation, &data.test};
  const char* names[] = {"train", "validation", "test"};
  const torch::Tensor mean = plain_clamped_mean(data.train, 1);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(splits[i].split, names[i]);
    const double energy = model.energy(*images[i]).mean().item<double>();
    EXPECT_NEAR(splits[i].mean, energy, 1e-10);
    EXPECT_NEAR(splits[i].independent, plain_bernoulli(mean, *images[i]), 1e-5);
    AisResult ais;
    ais.log_z = -7.5;
    const SplitLikelihood forward = splits[i].at(ais.bounds(), {false, "forward alone"});
    EXPECT_NEAR(forward.nats.forward, 7.5 - energy, 1e-10);
    EXPECT_FALSE(forward.nats.reverse.has_value());
    EXPECT_NEAR(forward.bits_per_dim, (energy - 7.5) / (kSites * std::log(2.0)), 1e-10);
    ais.reverse.emplace();
    ais.reverse->log_z_upper = -6.5;
    ais.reverse->log_z_bidirectional = -7;
    const SplitLikelihood closed = splits[i].at(ais.bounds(), {true, ""});
    EXPECT_NEAR(*closed.nats.reverse, 6.5 - energy, 1e-10);
    EXPECT_NEAR(closed.quoted, 7 - energy, 1e-10);
    EXPECT_NEAR(closed.bits_per_dim, (energy - 7) / (kSites * std::log(2.0)), 1e-10);
    EXPECT_EQ(splits[i].at(ais.bounds(), {false, "few"}).quoted, forward.quoted);
  }
}

// A stop between two blocks of images ends them without a result.
TEST(SplitEnergies, CanBeStopped) {
  const Dataset data = three_splits(PixelValues::kBinary);
  SineModel model(kSites);
  const Ranks& alone = Ranks::single_process();
  int asked = 0;
  EXPECT_FALSE(split_energies(model, data, torch::kCPU, alone, [&] { return ++asked == 2; }));
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(split_energies(model, data, torch::kCPU, alone, [] { return false; }));
}

// Grey levels are binarised by draws, which are the same in every call.
TEST(SplitEnergies, OfGreyLevelsAreOfOneBinaryCopy) {
  Dataset data = three_splits(PixelValues::kGrey);
  constexpr int64_t kImages = 4000;
  data.test = data.test[0].expand({kImages, kSites}).contiguous();
  // Energies are the numbers of the states: their mean is that of the pixels drawn.
  BernoulliModel first(torch::eye(kSites, torch::kFloat64)[0]);
  const auto test_energy = [&](EnergyModel& model) {
    return (*split_energies(model, data, torch::kCPU))[2].mean;
  };
  const double p = data.test[0][0].item<double>() / 255;
  ASSERT_GT(p, 0.02);
  EXPECT_NEAR(test_energy(first), p, 5 * std::sqrt(p * (1 - p) / kImages));

  data = three_splits(PixelValues::kGrey);
  SineModel model(kSites);
  const std::vector<SplitEnergy> once = *split_energies(model, data, torch::kCPU);
  const std::vector<SplitEnergy> again = *split_energies(model, data, torch::kCPU);
  const torch::Tensor* images[] = {&data.train, &data.validation, &data.test};
  const torch::Tensor mean = plain_clamped_mean(data.train, 255);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(once[i].mean, again[i].mean) << once[i].split << " is binarised again";
    EXPECT_EQ(once[i].independent, again[i].independent) << once[i].split;
    const torch::Tensor copy = binarise_once(*images[i], data.values, i);
    EXPECT_NEAR(once[i].mean, model.energy(copy).mean().item<double>(), 1e-10);
    EXPECT_NEAR(once[i].independent, plain_bernoulli(mean, copy), 1e-5);
  }
}

// NaN where the first three pixels are ink.
struct HoleyModel : SineModel {
  using SineModel::SineModel;
  torch::Tensor energy(const torch::Tensor& x) override {
    const torch::Tensor hole = x.narrow(1, 0, 3).to(torch::kFloat64).prod(1) > 0.5;
    return SineModel::energy(x).masked_fill(hole, NAN);
  }
};

std::string failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const NumericalError& error) {
    return error.what();
  }
  return "no failure";
}

TEST(SplitEnergies, NameAnImageWithoutEnergy) {
  Dataset data = three_splits(PixelValues::kBinary);
  for (torch::Tensor* split : {&data.train, &data.validation, &data.test})
    split->select(1, 0).zero_();
  data.test[17].fill_(1);
  data.validation[5].fill_(1);
  HoleyModel model(kSites);
  EXPECT_EQ(failure([&] { split_energies(model, data, torch::kCPU); }),
            "the energy of row 5 of the validation images is nan; in all, 1 of 90 energies are not "
            "finite");
  const auto sampler = make_sampler("rwm", {.radius = 1}, model);
  EXPECT_NE(failure([&] {
              quick_validation_likelihood(model, *sampler, data, {.temperatures = 2}, torch::kCPU);
            }).find("row 5 of the validation images"),
            std::string::npos);
  data.validation[5].zero_();
  EXPECT_NE(
      failure([&] { split_energies(model, data, torch::kCPU); }).find("row 17 of the test images"),
      std::string::npos);
}

TEST(QuickValidation, IsThatOfEnumeration) {
  for (const PixelValues values : {PixelValues::kBinary, PixelValues::kGrey}) {
    const Dataset data = three_splits(values);
    SineModel model(kSites);
    torch::NoGradGuard no_grad;
    const auto sampler = make_sampler("gwg", {}, model);
    const ValidationOptions options{.temperatures = 1000, .seed = 5};
    const auto score = quick_validation_likelihood(model, *sampler, data, options, torch::kCPU);
    ASSERT_TRUE(score.has_value());
    const double log_z = torch::logsumexp(-model.energy(all_states(kSites)), 0).item<double>();
    const double exact =
        -model.energy(binarise_once(data.validation, values, 1)).mean().item<double>() - log_z;
    ASSERT_GT(score->weight_ess, 50);
    // The delta method's standard error of log mean w.
    const double se = std::sqrt(1 / score->weight_ess - 1.0 / static_cast<double>(options.chains));
    EXPECT_LT(se, 0.1);
    EXPECT_NEAR(score->value, exact, 4 * se);
    EXPECT_EQ(score->warning, "");
    // All checkpoints use the same random numbers.
    EXPECT_EQ(quick_validation_likelihood(model, *sampler, data, options, torch::kCPU)->value,
              score->value);
  }
  EXPECT_EQ(ValidationOptions().temperatures, 10000);
}

// A residual model needs no annealing: weights of draws of its base score every network.
TEST(WeightedValidation, IsThatOfEnumeration) {
  const Dataset data = three_splits(PixelValues::kGrey);
  torch::manual_seed(7);
  const auto base = std::make_shared<RbmModel>(0.3 * torch::randn({24, kSites}),
                                               0.5 * torch::randn({kSites}), torch::randn({24}));
  const torch::Tensor states = all_states(kSites);
  const auto log_z_of = [&](EnergyModel& model) {
    return torch::logsumexp(-energies(model, states, torch::kCPU), 0).item<double>();
  };
  const BaseDraws draws(*base, 5, torch::kCPU);
  for (const double error : {0.0, 0.5, std::nan("")}) {
    ResidualModel model(base, resnet(20000, torch::Tensor()),
                        {.bound = 4, .log_z = KnownLogZ{log_z_of(*base), error}});
    const ValidationScore score =
        weighted_validation_likelihood(model, draws, data, {}, torch::kCPU);
    const torch::Tensor x = binarise_once(data.validation, data.values, 1);
    const double exact = -energies(model, x, torch::kCPU).mean().item<double>() - log_z_of(model);
    const double of_weights = draws.weigh(model).standard_error;
    EXPECT_LT(of_weights, 0.1);
    EXPECT_NEAR(score.value, exact, 4 * of_weights);
    EXPECT_NEAR(*score.standard_error, error > 0 ? std::hypot(of_weights, error) : of_weights,
                1e-12);
    EXPECT_EQ(score.weight_ess, draws.weigh(model).ess);
    EXPECT_EQ(score.warning, "");
    EXPECT_STREQ(score.verdict(), kWeightsVerdict);
  }
}

TEST(QuickValidation, SaysWhenTheWeightsAreTooFew) {
  const Dataset data = three_splits(PixelValues::kBinary);
  SineModel model(kSites);
  model.a.data().mul_(30);
  const auto sampler = make_sampler("gwg", {}, model);
  const auto score =
      quick_validation_likelihood(model, *sampler, data, {.temperatures = 1}, torch::kCPU);
  ASSERT_LT(score->weight_ess, kLeastWeightEss);
  EXPECT_EQ(score->warning, weights_warning(score->weight_ess, 100));
}

TEST(QuickValidation, StopsBetweenSteps) {
  const Dataset data = three_splits(PixelValues::kBinary);
  SineModel model(kSites);
  const auto sampler = make_sampler("gwg", {}, model);
  int asked = 0;
  EXPECT_FALSE(quick_validation_likelihood(model, *sampler, data, {}, torch::kCPU, [&] {
                 return ++asked == 5;
               }).has_value());
  EXPECT_EQ(asked, 5);
}

// Chains of one seed and number: their starts, and the sites that they flip if every proposal is
// accepted.
class WhoseNumbers : public testing::Test {
 protected:
  static constexpr int64_t kChains = 20, kBits = 64, kSteps = 10;
  static constexpr uint64_t kSeed = 7;

  using Chains = std::pair<torch::Tensor, torch::Tensor>;  // the start, the flips

  Chains sampling(uint64_t key) {
    const torch::Tensor x = random_states(model_.space(), ids_, key, torch::kCPU);
    ChainState state = sampler_->init(model_, x, ids_);
    StepParams params = sampler_->params(key, torch::kCPU);
    for (int64_t t = 0; t < kSteps; ++t) sampler_->step(model_, state, params);
    return {x, x.bitwise_xor(state.x)};
  }
  Chains annealing(RandomStream stream) {
    const Factorised start = Factorised::bernoulli(mean_);
    AnnealedImportanceSampling ais(
        model_, *sampler_, start,
        {.chains = kChains, .temperatures = kSteps, .seed = kSeed, .stream = stream}, torch::kCPU);
    ais.run({}, [] { return true; });
    torch::Tensor x;
    for (const auto& [key, value] : ais.checkpoint()) {
      if (key == "x") x = std::get<torch::Tensor>(value.value).clone();
    }
    return {x, x.bitwise_xor(ais.run().x)};
  }
  Chains training() {
    ReplayBuffer buffer(mean_, kChains, kSeed);
    const torch::Tensor x = buffer.states().clone();
    PcdSampling chains(*sampler_, {.batch = kChains, .steps = kSteps, .seed = kSeed});
    return {x, x.bitwise_xor(chains.advance(model_, x, ids_, 1).states)};
  }

  const torch::Tensor ids_ = torch::arange(kChains);
  const torch::Tensor mean_ = torch::full({kBits}, 0.5f);
  BernoulliModel model_{torch::zeros({kBits}, torch::kFloat64)};
  const std::unique_ptr<Sampler> sampler_ = make_sampler("rwm", {.radius = 1}, model_);
};

TEST_F(WhoseNumbers, NoTwoCommandsShareThem) {
  std::vector<Chains> all;
  const auto make_all = [&] {
    return std::vector<Chains>{sampling(kSeed), training(), annealing(RandomStream::kAnnealing),
                               annealing(RandomStream::kValidation),
                               sampling(stream_key(kSeed, RandomStream::kReference))};
  };
  all = make_all();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_GT(all[i].second.sum().item<int64_t>(), 0);
    for (size_t j = 0; j < i; ++j) {
      EXPECT_EQ((all[i].first == all[j].first).all(1).sum().item<int64_t>(), 0) << i << " " << j;
      EXPECT_EQ((all[i].second == all[j].second).all(1).sum().item<int64_t>(), 0) << i << " " << j;
    }
  }
  const std::vector<Chains> again = make_all();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(torch::equal(all[i].first, again[i].first)) << i;
    EXPECT_TRUE(torch::equal(all[i].second, again[i].second)) << i;
  }
}

}  // namespace
}  // namespace isinglass::likelihood_test
