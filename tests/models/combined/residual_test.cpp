// Residual models: energies and gradients against autograd, the gradients of the parameters, the
// parameter file, and what is refused. The contract tests compare their energies with plain loops.
#include "models/combined/residual.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/error.h"
#include "models/identity.h"
#include "models/lattice/bernoulli.h"
#include "models/live_state.h"
#include "models/network/mlp.h"
#include "models/network/rbm.h"
#include "models/network/resnet.h"
#include "models/registry.h"
#include "models/text_tensor.h"
#include "tests/models/samples.h"
#include "tests/support/scratch.h"

namespace isinglass::residual_test {
namespace {

constexpr int64_t kHeight = 5, kWidth = 6, kSites = kHeight * kWidth;

std::shared_ptr<RbmModel> small_rbm(int64_t categories = 0) {
  torch::manual_seed(4);
  if (categories == 0) {
    return std::make_shared<RbmModel>(torch::randn({7, kSites}), torch::randn({kSites}),
                                      torch::randn({7}));
  }
  return std::make_shared<RbmModel>(torch::randn({7, kSites, categories}),
                                    torch::randn({kSites, categories}), torch::randn({7}));
}

// A network with energies of some nats.
std::shared_ptr<EnergyModel> small_resnet(int64_t categories = 0, bool linear_head = true) {
  torch::manual_seed(6);
  auto network = std::make_shared<ResNetModel>(
      ResNetModel::Shape{kHeight, kWidth, 3, categories, 2, linear_head}, torch::Tensor());
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& p : network->parameters()) {
    if (p.dim() > 1) p.mul_(2.5);
  }
  const torch::Tensor f = network->energy(some_states(network->space(), 50));
  for (torch::Tensor p : network->named_children()["energy_linear"]->parameters()) {
    p.mul_(3 / f.std());
  }
  return network;
}

std::shared_ptr<ResidualModel> residual(const ResidualOptions& options, int64_t categories = 0,
                                        bool linear_head = true) {
  return std::make_shared<ResidualModel>(small_rbm(categories),
                                         small_resnet(categories, linear_head), options);
}

double largest(const torch::Tensor& t) {
  return t.abs().max().item<double>();
}

// The reference is autograd in float64; the model computes networks in float32 by hand-written
// backward passes.
TEST(Residual, EnergyAndGradientAreThoseOfAutograd) {
  for (const int64_t categories : {0, 3}) {
    for (const double bound : {0.0, 3.0, 16.0}) {
      for (const bool linear_head : {false, true}) {
        SCOPED_TRACE(fmt::format("K {} bound {} linear {}", categories, bound, linear_head));
        const auto model = residual({.bound = bound}, categories, linear_head);
        const auto exact = residual({.bound = bound}, categories, linear_head);
        const torch::Tensor x = some_states(model->space(), 20);
        exact->to(torch::kFloat64);
        const torch::Tensor input =
            exact->relaxed(x).to(torch::kFloat64).detach().requires_grad_(true);
        const torch::Tensor f = exact->network().energy(input);
        EXPECT_GT(f.std().item<double>(), 0.3) << "the network is too flat to test with";
        const torch::Tensor u =
            exact->base()->energy(input) + (bound > 0 ? bound * torch::tanh(f / bound) : f);
        const torch::Tensor gradient = torch::autograd::grad({u.sum()}, {input})[0];
        const EnergyGrad found = model->energy_and_grad(x);
        EXPECT_LE(largest(found.energy - u.detach()), 1e-5 * largest(u));
        EXPECT_LE(largest(found.gradient - gradient), 1e-5 * largest(gradient));
      }
    }
  }
}

TEST(Residual, TheBoundHolds) {
  const auto model = residual({.bound = 2});
  const torch::Tensor x = some_states(model->space(), 300);
  Evaluation whole, below;
  model->evaluate_energy(x, whole);
  model->base()->evaluate_energy(x, below);
  const torch::Tensor g = whole.energy - below.energy;
  EXPECT_LE(largest(g), 2 + 1e-9);  // rounding of U
  EXPECT_GT(largest(g), 1.9);
  EXPECT_LE(largest(model->base_in(whole).energy - below.energy), 0);
}

// Independent pixels with bound 0 are the network's own base. The energy of bernoulli lacks the
// normaliser; the gradients agree to a rounding of the logits.
TEST(Residual, OnIndependentPixelsIsAResNetWithItsBase) {
  torch::manual_seed(8);
  const torch::Tensor mean = 0.05 + 0.9 * torch::rand({kSites});
  const NewModelOptions shape{.image_height = kHeight, .image_width = kWidth, .channels = 3};
  NewModelOptions with_base = shape;
  with_base.base_mean = mean;
  const auto whole = new_model("resnet", with_base, 3);
  const torch::Tensor logits = torch::logit(mean.to(torch::kFloat64));
  ResidualModel model(std::make_shared<BernoulliModel>(-logits), new_model("resnet", shape, 3),
                      {.bound = 0});
  const torch::Tensor x = some_states(model.space(), 30);
  const EnergyGrad expected = whole->energy_and_grad(x), found = model.energy_and_grad(x);
  ASSERT_TRUE(model.base_log_z().has_value());
  EXPECT_NEAR(model.base_log_z()->value, torch::softplus(logits).sum().item<double>(), 1e-9);
  EXPECT_LE(largest(found.energy + model.base_log_z()->value - expected.energy), 1e-9);
  EXPECT_LE(largest(found.gradient - expected.gradient), 1e-6 * largest(expected.gradient));
}

// Only the network is trained unless the base is to be trained along. The gradients are those of
// the parts: ∂U/∂(network) = (1 − (g/c)²) ∂f, and that in the base's parameters is the base's own.
TEST(Residual, ParametersGradients) {
  const auto frozen = residual({.bound = 3});
  const auto own = frozen->network().parameters();
  ASSERT_EQ(frozen->parameters().size(), own.size());
  const torch::Tensor states = some_states(frozen->space(), 9);
  frozen->energy(states).sum().backward();
  for (const torch::Tensor& p : own) EXPECT_TRUE(p.grad().defined());
  for (const torch::Tensor& p : frozen->base()->parameters()) EXPECT_FALSE(p.grad().defined());

  const auto model = residual({.bound = 3, .train_base = true});
  ASSERT_EQ(model->parameters().size(), own.size() + 3);
  const torch::Tensor x = some_states(model->space(), 9);
  model->energy(x).sum().backward();
  const auto network = small_resnet();
  const torch::Tensor f = network->energy(x).to(torch::kFloat64);
  const torch::Tensor slope = 1 - torch::tanh(f.detach() / 3).square();
  (slope * f).sum().backward();
  const auto found = model->network().parameters(), expected = network->parameters();
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_LE(largest(found[i].grad() - expected[i].grad()),
              1e-5 * std::max(1.0, largest(expected[i].grad())));
  }
  const auto base = small_rbm();
  base->energy(x).sum().backward();
  for (const char* name : {"W", "b_v", "b_h"}) {
    EXPECT_TRUE(torch::equal(model->base()->named_parameters()[name].grad(),
                             base->named_parameters()[name].grad()))
        << name;
  }
}

TEST(Residual, ItsFileStandsAlone) {
  const Scratch scratch;
  for (const bool train_base : {false, true}) {
    for (const int64_t categories : {0, 3}) {
      SCOPED_TRACE(fmt::format("K {}", categories));
      const auto saved = residual(
          {.bound = 5, .log_z = KnownLogZ{289.25, 0.0625}, .train_base = train_base}, categories);
      write_named_tensors(scratch / "w.pt", state_of(*saved));
      const auto loaded = std::dynamic_pointer_cast<ResidualModel>(load_model(
          "residual",
          {.weights = scratch / "w.pt", .image_height = kHeight, .image_width = kWidth}));
      ASSERT_NE(loaded, nullptr);
      EXPECT_EQ(loaded->bound(), 5);
      EXPECT_EQ(loaded->base_log_z()->value, 289.25);
      EXPECT_EQ(loaded->base_log_z()->standard_error, 0.0625);
      EXPECT_EQ(loaded->base()->kind_name(), "rbm");
      const torch::Tensor x = some_states(saved->space(), 12);
      const EnergyGrad before = saved->energy_and_grad(x), after = loaded->energy_and_grad(x);
      EXPECT_TRUE(torch::equal(before.energy, after.energy));
      EXPECT_TRUE(torch::equal(before.gradient, after.gradient));
      EXPECT_EQ(parameters_sha256(*saved), parameters_sha256(*loaded));
    }
  }
}

// A file may hold log Z without its standard error, or neither.
TEST(Residual, ItsFileHoldsWhatIsKnownOfLogZ) {
  const Scratch scratch;
  const auto loaded = [&](const std::optional<KnownLogZ>& log_z) {
    write_named_tensors(scratch / "w.pt", state_of(*residual({.bound = 5, .log_z = log_z})));
    return std::dynamic_pointer_cast<ResidualModel>(
               load_model(
                   "residual",
                   {.weights = scratch / "w.pt", .image_height = kHeight, .image_width = kWidth}))
        ->base_log_z();
  };
  EXPECT_FALSE(loaded(std::nullopt).has_value());
  const auto value = loaded(KnownLogZ{289.25, std::nan("")});
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->value, 289.25);
  EXPECT_TRUE(std::isnan(value->standard_error));
}

// A new model takes its base from a file, with a hash of its parameters.
TEST(Residual, IsMadeNewOnTheBaseOfAFile) {
  const Scratch scratch;
  const auto rbm = small_rbm();
  write_named_tensors(scratch / "rbm.pt", state_of(*rbm));
  NewModelOptions shape{.image_height = kHeight, .image_width = kWidth, .channels = 4};
  NewResidualOptions options{.base = {"rbm", scratch / "rbm.pt"}, .bound = 8};
  for (const char* network : {"resnet", "mlp"}) {
    options.network = network;
    const auto model = new_residual(options, shape, 3);
    const torch::Tensor x = some_states(model->space(), 12);
    const torch::Tensor below = rbm->energy(x).detach(), u = model->energy(x).detach();
    const torch::Tensor f = new_model(network, shape, 3)->energy(x).detach().to(torch::kFloat64);
    EXPECT_LE(largest(u - below - 8 * torch::tanh(f / 8)), 1e-9);
    EXPECT_TRUE(model->named_buffers().contains("base.W"));
    EXPECT_EQ(text_in(model->named_buffers()["residual.base_sha256"]), parameters_sha256(*rbm));
  }
  options.linear_head = true;
  EXPECT_ERROR(new_residual(options, shape, 3), "head linear is that of a resnet");
  options.network = "resnet";
  const auto linear = new_residual(options, shape, 3);
  EXPECT_EQ(linear->named_parameters()["energy_linear.weight"].size(1), 4 * 2 * 2);
  options.network = "rbm";
  EXPECT_ERROR(new_residual(options, shape, 3), "network is rbm; resnet or mlp is needed");
  shape.image_width = 7;
  EXPECT_ERROR(new_residual(options, shape, 3), "has 30 sites, and the images have 35");
}

TEST(Residual, RefusesPartsThatDoNotFit) {
  const auto mlp = [](int64_t sites) {
    return std::make_shared<MlpModel>(StateSpace{StateKind::kBinary, sites, 2});
  };
  EXPECT_ERROR(ResidualModel(small_rbm(), mlp(7), {}),
               "the base rbm has 30 sites, and the network mlp has 7");
  EXPECT_ERROR(ResidualModel(small_rbm(3), mlp(kSites), {}),
               "differ in kind from those of the network");
  EXPECT_ERROR(ResidualModel(small_rbm(), mlp(kSites), {.bound = -1}), "bound is -1");
  EXPECT_ERROR(ResidualModel(small_rbm(), mlp(kSites), {.bound = INFINITY}), "bound is inf");
  const auto with_mean = new_model("resnet",
                                   {.image_height = kHeight,
                                    .image_width = kWidth,
                                    .channels = 3,
                                    .base_mean = torch::full({kSites}, 0.5)},
                                   1);
  EXPECT_ERROR(ResidualModel(small_rbm(), with_mean, {}), "has one base");
}

// The evaluation that base moves use: U_base and its cache are those of y already.
TEST(Residual, EvaluatesOnItsBase) {
  for (const int64_t categories : {0, 3}) {
    const auto model = residual({.bound = 3}, categories);
    const torch::Tensor x = some_states(model->space(), 12), y = x.flip(0).contiguous();
    for (const bool gradient : {false, true}) {
      Evaluation out, exact;
      gradient ? model->evaluate(x, out) : model->evaluate_energy(x, out);
      gradient ? model->evaluate(y, exact) : model->evaluate_energy(y, exact);
      Evaluation base = model->base_in(out);
      model->base()->evaluate_energy(y, base);
      model->evaluate_on_base(y, gradient, out);
      EXPECT_LE(largest(out.energy - exact.energy), 1e-5 * largest(exact.energy));
      ASSERT_EQ(out.gradient.defined(), gradient);
      if (gradient) {
        EXPECT_LE(largest(out.gradient - exact.gradient), 1e-5 * largest(exact.gradient));
      }
      ASSERT_EQ(out.cache.size(), exact.cache.size());
      for (size_t i = 0; i < out.cache.size(); ++i) {
        EXPECT_LE(largest(out.cache[i] - exact.cache[i]), 1e-5 * largest(exact.cache[i]));
      }
    }
  }
}

}  // namespace
}  // namespace isinglass::residual_test
