// Noise-contrastive estimation of residual models: its minimum is the exact log-ratio, its loss and
// derivatives are their formulas, the noise has the law of the base, the constant follows the
// network, and runs resume bit for bit.
#include "train/objectives/nce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "io/error.h"
#include "models/energies.h"
#include "models/lattice/bernoulli.h"
#include "models/live_state.h"
#include "models/network/mlp.h"
#include "models/network/rbm.h"
#include "tests/support/scratch.h"
#include "tests/support/trainer_fixture.h"

namespace isinglass::nce_test {
namespace {

constexpr int64_t kSites = 4, kStates = 16;

torch::Tensor numbers_of(const torch::Tensor& x) {
  return x.to(torch::kInt64).matmul(torch::pow(2, torch::arange(kSites)));
}

// A network with an energy of its own for every state.
struct TableModel : EnergyModel {
  explicit TableModel(const torch::Tensor& energies)
      : table(register_parameter("table", energies.clone())) {}
  std::string kind_name() const override { return "table"; }
  StateSpace space() const override { return {StateKind::kBinary, kSites, 2}; }
  torch::Tensor energy(const torch::Tensor& x) override {
    return table.index_select(0, numbers_of(x));
  }
  torch::Tensor table;
};

std::shared_ptr<RbmModel> small_rbm(int64_t sites = kSites) {
  torch::manual_seed(4);
  return std::make_shared<RbmModel>(torch::randn({24, sites}) / 2, torch::randn({sites}),
                                    torch::randn({24}) / 2);
}

torch::Tensor law_of(EnergyModel& model) {
  return torch::softmax(-energies(model, all_states(kSites), torch::kCPU), 0);
}

// Every state as often as its count says.
torch::Tensor repeated(const torch::Tensor& counts) {
  return all_states(kSites).repeat_interleave(counts, 0);
}

// With data and noise of known frequencies the loss is convex in h. At its minimum every derivative
// is 0: that in every energy of a table, and that in the constant.
TEST(Nce, TheMinimumIsTheExactLogRatio) {
  const torch::Tensor data = 1 + torch::arange(kStates).mul(7).remainder(11);
  const torch::Tensor noise = 1 + torch::arange(kStates).mul(5).remainder(13);
  const torch::Tensor ratio = torch::log(data.to(torch::kFloat64) / data.sum()) -
                              torch::log(noise.to(torch::kFloat64) / noise.sum());
  const torch::Tensor constant = torch::tensor(0.4, torch::kFloat64);
  for (const double bound : {0.0, 6.0}) {
    const torch::Tensor g = constant - ratio;
    const auto table =
        std::make_shared<TableModel>(bound > 0 ? bound * torch::atanh(g / bound) : g);
    ResidualModel model(small_rbm(), table, {.bound = bound});
    const NceLoss found = nce_loss(model, repeated(data), repeated(noise), constant);
    found.loss.backward();
    EXPECT_LT(table->table.grad().abs().max().item<double>(), 1e-15);
    EXPECT_NEAR(found.slope.item<double>(), 0, 1e-14);
    EXPECT_NEAR(-std::log(found.weight.item<double>()), 0.4, 1e-13);  // b = −log Z/Z_base
    const torch::NoGradGuard no_grad;
    for (const double change : {-0.01, 0.01}) {
      table->table[3] += change;
      EXPECT_GT(nce_loss(model, repeated(data), repeated(noise), constant).loss.item<double>(),
                found.loss.item<double>());
      table->table[3] -= change;
    }
  }
}

TEST(Nce, LossAndMetricsAreTheirFormulas) {
  const double bound = 2;
  const auto network =
      std::make_shared<TableModel>(2 * torch::sin(torch::arange(kStates, torch::kFloat64)));
  ResidualModel model(small_rbm(), network, {.bound = bound});
  const torch::Tensor data = all_states(kSites).narrow(0, 0, 7);
  const torch::Tensor noise = all_states(kSites).narrow(0, 5, 9);
  const NceLoss found = nce_loss(model, data, noise, torch::tensor(0.3, torch::kFloat64));
  const auto h_of = [&](const torch::Tensor& x, int64_t row) {
    const torch::Tensor one = x.narrow(0, row, 1);
    return 0.3 - (model.energy(one) - model.base()->energy(one)).item<double>();
  };
  const auto f_of = [&](const torch::Tensor& x, int64_t row) {
    return network->energy(x.narrow(0, row, 1)).item<double>();
  };
  const auto part = [&](const torch::Tensor& x, const auto& value) {
    double sum = 0;
    for (int64_t row = 0; row < x.size(0); ++row) sum += value(x, row);
    return sum / static_cast<double>(x.size(0));
  };
  const auto softplus = [](double z) { return std::log(1 + std::exp(z)); };
  const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  const auto expect = [&](const torch::Tensor& value, double expected) {
    EXPECT_NEAR(value.item<double>(), expected, 1e-12);
  };
  const double l_data = part(data, [&](auto& x, auto i) { return softplus(-h_of(x, i)); });
  const double l_noise = part(noise, [&](auto& x, auto i) { return softplus(h_of(x, i)); });
  expect(found.loss, (l_data + l_noise) / 2);
  expect(found.at_data, part(data, h_of));
  expect(found.at_noise, part(noise, h_of));
  expect(found.accuracy,
         (part(data, [&](auto& x, auto i) { return h_of(x, i) >= 0 ? 1.0 : 0.0; }) +
          part(noise, [&](auto& x, auto i) { return h_of(x, i) < 0 ? 1.0 : 0.0; })) /
             2);
  const auto pressed = [&](auto& x, auto i) {
    return std::abs(f_of(x, i)) > bound / 2 ? 1.0 : 0.0;
  };
  expect(found.pressed, (7 * part(data, pressed) + 9 * part(noise, pressed)) / 16);
  expect(found.slope, (part(data, [&](auto& x, auto i) { return -sigmoid(-h_of(x, i)); }) +
                       part(noise, [&](auto& x, auto i) { return sigmoid(h_of(x, i)); })) /
                          2);
  const auto curved = [&](auto& x, auto i) { return sigmoid(h_of(x, i)) * sigmoid(-h_of(x, i)); };
  expect(found.curvature, (part(data, curved) + part(noise, curved)) / 2);
  expect(found.weight, part(noise, [&](auto& x, auto i) { return std::exp(h_of(x, i) - 0.3); }));
}

Dataset images_of_law(const torch::Tensor& law, int64_t count) {
  torch::manual_seed(11);
  Dataset data;
  data.name = "four";
  data.train = all_states(kSites).index_select(
      0, torch::multinomial(law.to(torch::kFloat64), count, /*replacement=*/true));
  data.height = data.width = 2;
  return data;
}

// The chains of one batch are independent, so that their frequencies have binomial errors.
TEST(Nce, TheNoiseHasTheLawOfTheBase) {
  constexpr int64_t kChains = 4000;
  const torch::Tensor theta = torch::tensor({0.5, -1.0, 0.2, 1.5}, torch::kFloat64);
  const std::shared_ptr<EnergyModel> bases[] = {small_rbm(),
                                                std::make_shared<BernoulliModel>(theta)};
  for (const auto& base : bases) {
    SCOPED_TRACE(base->kind_name());
    ResidualModel model(base, std::make_shared<TableModel>(torch::zeros({kStates})), {});
    const Dataset data = images_of_law(torch::ones({kStates}), 50);
    NceObjective objective(model, data, {.batch = kChains, .sweeps = 2, .seed = 3}, 10,
                           torch::kCPU);
    const torch::Tensor p = law_of(*base);
    torch::Tensor before;
    for (int64_t t = 1; t <= 3; ++t) {
      Batch batch = objective.draw(model, t);
      const torch::Tensor share =
          torch::bincount(numbers_of(batch.chains), {}, kStates).to(torch::kFloat64) / kChains;
      const torch::Tensor error = torch::sqrt(p * (1 - p) / static_cast<double>(kChains));
      EXPECT_LT(((share - p).abs() / error).max().item<double>(), 5) << t;
      EXPECT_FALSE(before.defined() && torch::equal(before, batch.chains));
      before = batch.chains.clone();
      objective.keep(std::move(batch));
    }
  }
}

// The network stays as it is. b then has the mean and the variance of a walk towards the root of
// L', with noise of independent batches.
TEST(Nce, TheConstantFollowsTheNetwork) {
  const auto base =
      std::make_shared<BernoulliModel>(torch::tensor({0.5, -1.0, 0.2, 1.5}, torch::kFloat64));
  const torch::Tensor g = 3 + torch::sin(torch::arange(kStates, torch::kFloat64));
  ResidualModel model(base, std::make_shared<TableModel>(g), {.bound = 0});
  const Dataset data = images_of_law(torch::softmax(-g, 0), 200);
  constexpr int64_t kBatch = 100;
  NceObjective objective(model, data, {.batch = kBatch, .seed = 3}, 300, torch::kCPU);
  const torch::Tensor p_noise = law_of(*base);
  const torch::Tensor p_data =
      torch::bincount(numbers_of(data.train), {}, kStates).to(torch::kFloat64) / 200;
  double root = 0, variance = 0, curvature = 0;
  for (int step = 0; step < 100; ++step) {
    const torch::Tensor s = torch::sigmoid(root - g);
    const double slope = ((p_noise * s).sum() - (p_data * (1 - s)).sum()).item<double>() / 2;
    curvature = ((p_noise + p_data) * s * (1 - s)).sum().item<double>() / 2;
    const auto variance_of = [&](const torch::Tensor& p) {
      return ((p * s * s).sum() - (p * s).sum().square()).item<double>() / kBatch;
    };
    variance = (variance_of(p_noise) + variance_of(p_data)) / 4 / (curvature * curvature);
    root -= std::clamp(slope / curvature, -1.0, 1.0);
  }
  EXPECT_GT(root, 2) << "the constant has no way to go";
  const double gain = NceObjective::kGain;
  const double error = std::sqrt(gain / (2 - gain) * variance);
  EXPECT_LT(error, 0.1);
  for (int64_t t = 1; t <= 300; ++t) {
    Batch batch = objective.draw(model, t);
    objective.loss(model, batch);
    objective.update([] { return torch::zeros({}); });
    objective.keep(std::move(batch));
    if (t % 100 == 0) {
      EXPECT_NEAR(objective.saved_state()[0].second.item<double>(), root, 5 * error);
    }
  }
  // An iteration without an update leaves the constant as it is.
  const double before = objective.saved_state()[0].second.item<double>();
  objective.update([] { return torch::ones({}); });
  EXPECT_EQ(objective.saved_state()[0].second.item<double>(), before);
}

struct NceSetting {
  explicit NceSetting(int64_t iterations)
      : data(grey_images(40, 3)), model(made()), trainer(model, objective(), options(iterations)) {}

  static std::shared_ptr<EnergyModel> made() {
    const auto base = small_rbm(9);
    return std::make_shared<ResidualModel>(
        base, std::make_shared<MlpModel>(StateSpace{StateKind::kBinary, 9, 2}),
        ResidualOptions{.bound = 4});
  }
  std::unique_ptr<Objective> objective() const {
    return std::make_unique<NceObjective>(*model, data, NceOptions{.batch = 8, .seed = 2}, 20,
                                          torch::kCPU);
  }
  static TrainOptions options(int64_t iterations) {
    TrainOptions options = small_options();
    options.iterations = iterations;
    return options;
  }

  Dataset data;
  std::shared_ptr<EnergyModel> model;
  Trainer trainer;
};

TEST(Nce, ResumesBitForBit) {
  const Scratch scratch;
  NceSetting whole(20);
  whole.trainer.start(scratch / "whole");
  whole.trainer.run();
  for (const int64_t part : {0, 13}) {
    const fs::path run = scratch / fmt::format("parts{}", part);
    NceSetting first(std::max<int64_t>(part, 1));
    first.trainer.start(run);
    if (part > 0) first.trainer.run();
    NceSetting second(20);
    second.trainer.resume(run);
    second.trainer.run();
    expect_same_state(run / "checkpoints/00000020.pt", scratch / "whole/checkpoints/00000020.pt");
    EXPECT_EQ(metrics_of(run), metrics_of(scratch / "whole"));
  }
  const auto last = metrics_of(scratch / "whole").back();
  for (const char* name :
       {"loss", "accuracy", "log_ratio_data", "log_ratio_noise", "log_z_ratio", "near_bound"}) {
    EXPECT_TRUE(last.contains(name)) << name;
  }
  const Checkpoint saved = read_checkpoint(scratch / "whole/checkpoints/00000020.pt");
  EXPECT_NE(saved.carried[0].second.item<double>(), 0);
}

TEST(Nce, TheBaseStaysAsItIs) {
  const Scratch scratch;
  NceSetting setting(20);
  const NamedTensors before = state_of(*dynamic_cast<ResidualModel&>(*setting.model).base());
  setting.trainer.start(scratch / "run");
  setting.trainer.run();
  const auto base = small_rbm(9);
  expect_equal(state_of(*base), before, "base");
}

TEST(Nce, RefusesOtherModels) {
  const Dataset data = images_of_law(torch::ones({kStates}), 20);
  const auto refuses = [&](EnergyModel& model, const char* why) {
    EXPECT_ERROR(NceObjective(model, data, {.batch = 5}, 10, torch::kCPU), why);
  };
  refuses(*small_rbm(),
          "trains the network of a residual model against its base, but the model is "
          "'rbm'");
  const auto table = [] { return std::make_shared<TableModel>(torch::zeros({kStates})); };
  ResidualModel without(std::make_shared<SineModel>(kSites), table(), {});
  refuses(without, "needs a base with Gibbs sweeps, which 'sine' does not have");
  ResidualModel nine(small_rbm(9), std::make_shared<MlpModel>(StateSpace{StateKind::kBinary, 9, 2}),
                     {});
  refuses(nine, "are not those of the images of 'four'");
}

}  // namespace
}  // namespace isinglass::nce_test
