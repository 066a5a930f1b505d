// Continuous models: closed forms in double precision, checks of their files, products, other
// gradients, scripts.
#include <gtest/gtest.h>

#include "models/combined/gradient_override.h"
#include "models/density/gaussian.h"
#include "models/density/gaussian_mixture.h"
#include "models/registry.h"
#include "tests/models/samples.h"
#include "tests/models/script_files.h"
#include "tests/support/scratch.h"

namespace isinglass::continuous_test {
namespace {

ModelSample sample_of(const std::string& label) {
  for (const ModelSample& sample : continuous_samples()) {
    if (sample.label == label) return sample;
  }
  throw std::out_of_range(label);
}

// Sums of some dozens of terms in double precision, far from the modes, too; gradients are float32.
TEST(ContinuousModels, ClosedFormsAreAutogradInDoublePrecision) {
  for (const ModelSample& sample : continuous_samples()) {
    SCOPED_TRACE(sample.label);
    const auto model = load_sample(sample);
    for (const double spread : {0.5, 30.0}) {
      const torch::Tensor x = spread * some_states(model->space(), 40);
      const EnergyGrad found = model->energy_and_grad(x);
      const torch::Tensor input = x.to(torch::kFloat64).requires_grad_(true);
      const torch::Tensor u = model->energy(input);
      const torch::Tensor gradient = torch::autograd::grad({u.sum()}, {input})[0];
      const double script = sample.model == "script" ? 1e6 : 1;  // float32 energies
      EXPECT_TRUE(torch::allclose(found.energy, u.detach().to(torch::kFloat64), 1e-12 * script));
      EXPECT_TRUE(torch::allclose(found.gradient.to(torch::kFloat64), gradient, 1e-6 * script));
    }
  }
}

// More states than are evaluated at once.
TEST(ContinuousModels, AMixtureIsEvaluatedInBlocks) {
  torch::manual_seed(1);
  const int64_t sites = 600;
  const GaussianMixtureModel mixture(torch::full({20}, 0.05), torch::randn({20, sites}),
                                     0.5 + torch::rand({20, sites}));
  auto& model = const_cast<GaussianMixtureModel&>(mixture);
  const torch::Tensor x = torch::randn({200, sites});
  const EnergyGrad all = model.energy_and_grad(x);
  for (const int64_t b : {0, 86, 87, 88, 199}) {
    const EnergyGrad one = model.energy_and_grad(x.slice(0, b, b + 1));
    EXPECT_TRUE(torch::allclose(one.energy[0], all.energy[b], 1e-12));
    EXPECT_TRUE(torch::allclose(one.gradient[0], all.gradient[b], 1e-6, 1e-6));
  }
  EXPECT_EQ(model.energy_and_grad(x.slice(0, 0, 0)).gradient.sizes(),
            (std::vector<int64_t>{0, sites}));
}

// Matrices large enough for LAPACK to take several threads, which must not wait for each other.
TEST(ContinuousModels, AMixtureOfManySitesIsNormalised) {
  const int64_t sites = 200;
  torch::manual_seed(7);
  const torch::Tensor root = torch::randn({3, sites, sites}, torch::kFloat64) / 15;
  const torch::Tensor precision =
      root.matmul(root.transpose(1, 2)) + torch::eye(sites, torch::kFloat64);
  const torch::Tensor mean = torch::randn({1, sites}, torch::kFloat64);
  GaussianMixtureModel mixture(torch::full({3}, 1 / 3.0), mean.expand({3, sites}), precision);
  // At the common mean: −log Σ_c w_c √det(P_c / 2π).
  const torch::Tensor log_density =
      0.5 * at::linalg_eigvalsh(precision).log().sum(1) - 0.5 * sites * std::log(2 * M_PI);
  EXPECT_NEAR(mixture.energy(mean).item<double>(),
              -(log_density.logsumexp(0).item<double>() - std::log(3.0)), 1e-9 * sites);
}

// Far from every component, e^{−U} underflows; U and its gradient do not.
TEST(ContinuousModels, AMixtureIsFiniteFarAway) {
  const auto model = load_sample(sample_of("gaussian_mixture"));
  const EnergyGrad far = model->energy_and_grad(torch::full({1, 4}, 1e6f));
  EXPECT_TRUE(far.energy.isfinite().all().item<bool>());
  EXPECT_TRUE(far.gradient.isfinite().all().item<bool>());
}

TEST(ContinuousFiles, APrecisionIsSymmetricPositiveDefinite) {
  for (const char* label : {"gaussian", "gaussian_mixture"}) {
    ModelSample sample = sample_of(label);
    const torch::Tensor precision = sample.tensors.back().second;
    torch::Tensor wrong = precision.clone();
    wrong.select(-2, 0).select(-1, 1).add_(0.5);
    replace(sample.tensors, "precision", wrong);
    EXPECT_ERROR(load_sample(sample), "'precision' must be symmetric");
    replace(sample.tensors, "precision", precision - 50 * torch::eye(4));
    EXPECT_ERROR(load_sample(sample), "'precision' must be positive definite");
    replace(sample.tensors, "precision", torch::zeros_like(precision));
    EXPECT_ERROR(load_sample(sample), "'precision' must be positive definite");
  }
  for (const char* label : {"gaussian_diagonal", "gaussian_mixture_diagonal"}) {
    ModelSample sample = sample_of(label);
    torch::Tensor wrong = sample.tensors.back().second.clone();
    wrong.view(-1)[1] = 0;
    replace(sample.tensors, "precision", wrong);
    EXPECT_ERROR(load_sample(sample), "'precision' must be positive definite");
  }
}

TEST(ContinuousFiles, WeightsArePositiveAndSumToOne) {
  ModelSample sample = sample_of("gaussian_mixture");
  for (const auto& weights : {torch::tensor({0.5, 0.3, 0.3}), torch::tensor({0.9, 0.3, -0.2}),
                              torch::tensor({0.7, 0.3, 0.0})}) {
    replace(sample.tensors, "weights", weights);
    EXPECT_ERROR(load_sample(sample), "'weights' must hold positive numbers that sum to 1");
  }
  replace(sample.tensors, "weights", torch::tensor({0.5, 0.5}));
  EXPECT_ERROR(load_sample(sample), "'weights' has shape [2]");
}

TEST(ContinuousFiles, CategoriesAreForDiscreteStates) {
  ModelSample sample = sample_of("gaussian");
  sample.options.categories = 3;
  EXPECT_ERROR(load_sample(sample), "categories is 3");
}

TEST(Product, NeedsTwoContinuousFactorsOfOneSize) {
  const Scratch scratch;
  const auto file = [&](const char* name, const char* label) {
    write_named_tensors(scratch / name, sample_of(label).tensors);
    return scratch / name;
  };
  const NamedFile four{"gaussian", file("4.pt", "gaussian")};
  const NamedFile five{"gaussian", file("5.pt", "gaussian_diagonal")};
  write_named_tensors(scratch / "theta.pt", {{"theta", torch::ones({4})}});
  EXPECT_ERROR(load_model("product", {}), "needs factors NAME=FILE.pt,NAME=FILE.pt");
  EXPECT_ERROR(load_model("product", {.factors = {four}}), "two or more models");
  EXPECT_ERROR(load_model("product", {.factors = {four, five}}),
               "but gaussian has 4 and gaussian has 5");
  EXPECT_ERROR(load_model("product", {.factors = {four, {"product", four.file}}}), "itself");
  EXPECT_ERROR(load_model("product", {.factors = {four, {"bernoulli", scratch / "theta.pt"}}}),
               "continuous states");
  EXPECT_NO_THROW(load_model("product", {.factors = {four, four, four}}));
}

TEST(GradientOverride, IsTheEnergyOfOneAndTheGradientOfTheOther) {
  const auto energy = load_sample(sample_of("gaussian"));
  const auto gradient = load_sample(sample_of("gaussian_mixture"));
  GradientOverrideModel both(energy, gradient);
  const torch::Tensor x = some_states(energy->space(), 9);
  const EnergyGrad found = both.energy_and_grad(x);
  EXPECT_TRUE(torch::equal(found.energy, energy->energy_and_grad(x).energy));
  EXPECT_TRUE(torch::equal(found.gradient, gradient->energy_and_grad(x).gradient));
  EXPECT_EQ(both.kind_name(), "gaussian");
  EXPECT_ERROR(GradientOverrideModel(energy, load_sample(sample_of("gaussian_diagonal"))),
               "has 5 sites, but model gaussian has 4");
  const Scratch scratch;
  write_named_tensors(scratch / "u.pt", {{"u", torch::ones({})}});
  EXPECT_ERROR(GradientOverrideModel(
                   energy, load_model("parity", {.weights = scratch / "u.pt", .sites = 4})),
               "has no gradient");
  write_named_tensors(scratch / "theta.pt", {{"theta", torch::ones({4})}});
  EXPECT_ERROR(
      GradientOverrideModel(energy, load_model("bernoulli", {.weights = scratch / "theta.pt"})),
      "does not have states of the same kind");
}

class Scripts : public testing::Test {
 protected:
  std::shared_ptr<EnergyModel> load(const std::string& body, ModelOptions options = {.sites = 3}) {
    options.weights = scratch_ / "script.pt";
    write_script(options.weights, "def forward(self, x):\n    return " + body + "\n");
    return load_model("script", options);
  }

  Scratch scratch_;
};

TEST_F(Scripts, StatesAreWhatTheCallerSays) {
  const auto binary = load("(x * x).sum(1) * 2");
  EXPECT_EQ(binary->space().kind, StateKind::kBinary);
  const torch::Tensor bits = torch::tensor({1, 0, 1}, torch::kUInt8).view({1, 3});
  EXPECT_EQ(binary->energy_and_grad(bits).energy.item<double>(), 4);
  EXPECT_EQ(binary->energy_and_grad(bits).gradient[0][2].item<float>(), 4);
  const auto one_hot = load("x[:, :, 2].sum(1)", {.sites = 3, .categories = 4});
  EXPECT_EQ(one_hot->space().kind, StateKind::kCategorical);
  const torch::Tensor values = torch::tensor({2, 3, 2}, torch::kUInt8).view({1, 3});
  const EnergyGrad at = one_hot->energy_and_grad(values);
  EXPECT_EQ(at.energy.item<double>(), 2);
  EXPECT_EQ(at.gradient.sizes(), (std::vector<int64_t>{1, 3, 4}));
}

TEST_F(Scripts, AreCheckedOnTheFirstCall) {
  const torch::Tensor x = torch::ones({2, 3});
  const auto call = [&](const std::string& body) {
    load(body, {.sites = 3, .continuous = true})->energy_and_grad(x);
  };
  EXPECT_ERROR(call("x"), "returned shape [2, 3]; it must be floating-point energies [2]");
  EXPECT_ERROR(call("x.sum()"), "returned shape []");
  EXPECT_ERROR(call("-x.sum(1) / 0"), "an energy that is -infinity or not a number");
  EXPECT_ERROR(call("(x.sum(1), x)"), "must return a tensor");
  EXPECT_ERROR(call("x.mm(x)"), "the script failed: ");
  EXPECT_ERROR(call("x.detach().sum(1)"), "does not depend on its input");
}

TEST_F(Scripts, ClassesOfAClassifierAreEnergies) {
  const torch::Tensor x = torch::tensor({1.f, 2.f, 3.f, -1.f, 0.f, 5.f}).view({2, 3});
  const auto load_class = [&](const std::string& body, int64_t label) {
    return load(body, {.sites = 3, .label = label, .continuous = true});
  };
  const EnergyGrad at = load_class("x * x", 1)->energy_and_grad(x);  // −f(x)[1] = −x_1²
  EXPECT_TRUE(torch::equal(at.energy, torch::tensor({-4., 0.}, torch::kFloat64)));
  EXPECT_TRUE(torch::equal(at.gradient[0], torch::tensor({0.f, -4.f, 0.f})));
  EXPECT_ERROR(load_class("x", 3)->energy(x), "class is 3, but");
  EXPECT_ERROR(load_class("x.sum(1)", 0)->energy(x), "outputs of classes [2, C]");
}

TEST_F(Scripts, NeedSitesAndATorchScriptFile) {
  EXPECT_ERROR(load("x.sum(1)", {}), "model script needs sites D");
  EXPECT_ERROR(load_model("script", {.weights = scratch_ / "none.pt", .sites = 3}),
               "does not exist or is not a file");
  write_named_tensors(scratch_ / "tensors.pt", {{"u", torch::ones({})}});
  EXPECT_ERROR(load_model("script", {.weights = scratch_ / "tensors.pt", .sites = 3}),
               "not a TorchScript module");
}

}  // namespace
}  // namespace isinglass::continuous_test
