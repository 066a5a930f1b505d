// Exact neighbour differences of every model of the registry against plain energies of its
// neighbours, its own and those of the fallback; and the contract of models without a gradient.
#include <gtest/gtest.h>

#include "tests/models/samples.h"

namespace isinglass::differences_test {
namespace {

constexpr double kFloat32 = 1e-5;  // relative: energies of deep models, and the table itself

// The same energy with nothing of its own.
class Plain : public EnergyModel {
 public:
  explicit Plain(EnergyModel& model) : model_(model) {}
  std::string kind_name() const override { return model_.kind_name(); }
  StateSpace space() const override { return model_.space(); }
  torch::Tensor energy(const torch::Tensor& x) override { return model_.energy(x); }

 private:
  EnergyModel& model_;
};

double energy_of(EnergyModel& model, const torch::Tensor& state) {
  Evaluation at;
  model.evaluate_energy(state.unsqueeze(0), at);
  return at.energy.item<double>();
}

// U(x) − U(neighbour), one neighbour after the other, float64 [differences of one state].
torch::Tensor plain_differences(EnergyModel& model, const torch::Tensor& x) {
  const StateSpace space = model.space();
  const double here = energy_of(model, x);
  std::vector<double> all;
  for (int64_t i = 0; i < space.sites; ++i) {
    if (space.kind == StateKind::kPermutation) {
      for (int64_t j = i + 1; j < space.sites; ++j) {
        torch::Tensor y = x.clone();
        y[i] = x[j];
        y[j] = x[i];
        all.push_back(here - energy_of(model, y));
      }
      continue;
    }
    for (int64_t k = 0; k < space.categories; ++k) {
      torch::Tensor y = x.clone();
      y[i] = k;
      const bool flipped = x[i].item<int64_t>() != k;
      if (flipped || space.kind != StateKind::kBinary) all.push_back(here - energy_of(model, y));
    }
  }
  const torch::Tensor flat = torch::tensor(all, torch::kFloat64);
  const bool every_value = all.size() == static_cast<size_t>(space.sites * space.categories);
  return every_value ? flat.view({space.sites, space.categories}) : flat;
}

void expect_close(const torch::Tensor& a, const torch::Tensor& b, double relative) {
  ASSERT_EQ(a.sizes(), b.sizes());
  const double scale = std::max(1.0, b.abs().max().item<double>());
  EXPECT_LE((a - b).abs().max().item<double>(), relative * scale);
}

class Differences : public testing::TestWithParam<ModelSample> {
 protected:
  std::shared_ptr<EnergyModel> model = load_sample(GetParam());
  torch::Tensor x = some_states(model->space(), 6);
};

TEST_P(Differences, AreThoseOfPlainEnergies) {
  Plain plain(*model);
  Evaluation own, fallback, alone;
  const bool cheap = dynamic_cast<HasEnergyDifferences*>(model.get()) != nullptr;
  const int64_t neighbours = model->space().neighbours();
  EXPECT_EQ(evaluate_differences(*model, x, own), cheap ? 1 : 1 + neighbours);
  EXPECT_EQ(evaluate_differences(plain, x, fallback), 1 + neighbours);
  model->evaluate_energy(x, alone);
  expect_close(own.energy, alone.energy, kFloat32);
  expect_close(own.differences, fallback.differences, kFloat32);
  EXPECT_EQ(own.differences.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(own.differences.is_contiguous());
  EXPECT_FALSE(own.differences.requires_grad() || own.energy.requires_grad());
  // Energies of deep models are float32: differences lose what the energies are large by.
  const double scale = std::max(1.0, alone.energy.abs().max().item<double>());
  for (int64_t b = 0; b < x.size(0); ++b) {
    expect_close(own.differences[b], plain_differences(*model, x[b]), kFloat32 * scale);
  }
  const Evaluation first = own;
  evaluate_differences(*model, x.flip(0), own);  // into the same buffers
  expect_close(own.energy, alone.energy.flip(0), kFloat32);
  if (cheap) {
    EXPECT_EQ(own.differences.data_ptr(), first.differences.data_ptr());
  }
}

TEST_P(Differences, AStateAloneIsItsRowOfABatch) {
  Evaluation batch, one;
  evaluate_differences(*model, x, batch);
  evaluate_differences(*model, x.slice(0, 2, 3), one);
  // Energies of deep models are float32: differences lose what the energies are large by.
  const double scale = std::max(1.0, batch.energy.abs().max().item<double>());
  expect_close(one.differences[0], batch.differences[2], GetParam().lattice ? 0 : kFloat32 * scale);
}

class Conditionals : public Differences {};

TEST_P(Conditionals, AreThoseOfPlainEnergies) {
  auto* conditionals = dynamic_cast<HasConditionals*>(model.get());
  torch::Tensor out;
  for (int64_t i = 0; i < x.size(1); ++i) {
    const torch::Tensor site = (i + torch::arange(x.size(0))) % x.size(1);
    conditionals->conditional_differences(x, site, out);
    ASSERT_EQ(out.sizes(), (std::vector<int64_t>{x.size(0), model->space().categories}));
    EXPECT_EQ(out.scalar_type(), torch::kFloat64);
    for (int64_t b = 0; b < x.size(0); ++b) {
      for (int64_t k = 0; k < model->space().categories; ++k) {
        torch::Tensor y = x[b].clone();
        y[site[b].item<int64_t>()] = k;
        EXPECT_NEAR(out[b][k].item<double>(), energy_of(*model, y) - energy_of(*model, x[b]),
                    1e-10);
      }
    }
  }
}

class LatticeDifferences : public Differences {};

TEST_P(LatticeDifferences, OfNoStatesAreNone) {
  Evaluation none;
  evaluate_differences(*model, x.slice(0, 0, 0), none);
  EXPECT_EQ(none.differences.numel() + none.energy.numel(), 0);
}

std::string label_of(const testing::TestParamInfo<ModelSample>& info) {
  return info.param.label;
}

std::vector<ModelSample> discrete_samples() {
  return samples_that([](auto&, EnergyModel& model) { return model.space().discrete(); });
}

INSTANTIATE_TEST_SUITE_P(All, Differences, testing::ValuesIn(discrete_samples()), label_of);
INSTANTIATE_TEST_SUITE_P(All, Conditionals,
                         testing::ValuesIn(samples_that([](auto&, EnergyModel& model) {
                           return dynamic_cast<HasConditionals*>(&model) != nullptr;
                         })),
                         label_of);
INSTANTIATE_TEST_SUITE_P(All, LatticeDifferences,
                         testing::ValuesIn(samples_that([](const ModelSample& sample, auto&) {
                           return sample.lattice;
                         })),
                         label_of);

// There are more chains than the RBM processes at once, and |W| at which a softplus overflows exp.
TEST(RbmDifferences, OfManyChainsAndLargeWeights) {
  torch::manual_seed(4);
  const ModelSample sample{"large",
                           "rbm",
                           {{"W", 60 * torch::randn({300, 150})},
                            {"b_v", torch::randn({150})},
                            {"b_h", torch::randn({300})}},
                           {},
                           false,
                           {}};
  const auto model = load_sample(sample);
  const torch::Tensor x = some_states(model->space(), 250);
  Evaluation all;
  evaluate_differences(*model, x, all);
  EXPECT_TRUE(all.differences.isfinite().all().item<bool>());
  for (const int64_t b : {int64_t{0}, int64_t{92}, int64_t{93}, int64_t{249}}) {
    // float32 hidden inputs of some hundreds: 1e-5 each, 300 of them.
    expect_close(all.differences[b], plain_differences(*model, x[b]), 1e-4);
  }
}

TEST(NonFiniteDifferences, StayWithTheirNeighbours) {
  class Hole : public EnergyModel {
   public:
    std::string kind_name() const override { return "hole"; }
    StateSpace space() const override { return {StateKind::kBinary, 3, 2}; }
    torch::Tensor energy(const torch::Tensor& x) override {
      const torch::Tensor count = x.sum(1, false, torch::kFloat64);
      return torch::where(count == 3, INFINITY, count);
    }
  };
  Hole hole;
  Evaluation at;
  evaluate_differences(hole, torch::tensor({0, 1, 1}, torch::kUInt8).view({1, 3}), at);
  EXPECT_EQ(at.differences[0][0].item<float>(), -INFINITY);
  EXPECT_EQ(at.differences[0][1].item<float>(), 1);
}

class WithoutGradient : public testing::TestWithParam<ModelSample> {};

TEST_P(WithoutGradient, EnergyIsThatOfPlainLoops) {
  const ModelSample& sample = GetParam();
  const auto model = load_sample(sample);
  EXPECT_EQ(model->kind_name(), sample.model);
  EXPECT_FALSE(model->differentiable());
  const torch::Tensor x = some_states(model->space(), 24);
  check_states(model->space(), x, "the states");
  Evaluation out;
  model->evaluate_energy(x, out);
  EXPECT_EQ(out.energy.scalar_type(), torch::kFloat64);
  EXPECT_GT(out.energy.std().item<double>(), 0.01) << "the sample is too flat to test with";
  for (int64_t b = 0; b < x.size(0); ++b) {
    Values values;
    for (int64_t i = 0; i < x.size(1); ++i) values.push_back(x[b][i].item<int>());
    EXPECT_NEAR(out.energy[b].item<double>(), sample.energy(sample.tensors, values), 1e-12);
    EXPECT_NEAR(out.energy[b].item<double>(), energy_of(*model, x[b]), 1e-12);
  }
  const void* buffer = out.energy.data_ptr();
  model->evaluate_energy(x.flip(0), out);
  EXPECT_EQ(out.energy.data_ptr(), buffer);
  model->evaluate_energy(x.slice(0, 0, 0), out);
  EXPECT_EQ(out.energy.numel(), 0);
}

std::vector<ModelSample> samples_without_gradient() {
  std::vector<ModelSample> samples;
  for (const ModelSample& sample : model_samples()) {
    if (!find_model(sample.model).gradient) samples.push_back(sample);
  }
  return samples;
}

INSTANTIATE_TEST_SUITE_P(All, WithoutGradient, testing::ValuesIn(samples_without_gradient()),
                         label_of);

TEST(DifferencesGpu, AgreeWithTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const ModelSample& sample : discrete_samples()) {
    SCOPED_TRACE(sample.label);
    const auto model = load_sample(sample);
    const torch::Tensor x = some_states(model->space(), 40);
    Evaluation cpu, gpu;
    evaluate_differences(*model, x, cpu);
    model->to(torch::kCUDA);
    evaluate_differences(*model, x.to(torch::kCUDA), gpu);
    const double scale = std::max(1.0, cpu.energy.abs().max().item<double>());
    expect_close(gpu.energy.cpu(), cpu.energy, kFloat32);
    expect_close(gpu.differences.cpu(), cpu.differences, kFloat32 * scale);
  }
}

}  // namespace
}  // namespace isinglass::differences_test
