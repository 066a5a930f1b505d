// The contract that every differentiable model of the registry satisfies, on small samples of each.
#include <gtest/gtest.h>
#include <omp.h>

#include <functional>
#include <set>

#include "models/lattice/lattice_model.h"
#include "tests/models/samples.h"

namespace isinglass::contract_test {
namespace {

// Tolerance of values of deep models in float32, relative to the largest in the batch
// (docs/concepts/reproducibility.md).
constexpr double kFloat32 = 1e-5;

double largest(const torch::Tensor& t) {
  return t.abs().max().item<double>();
}

void expect_close(const torch::Tensor& a, const torch::Tensor& b, double relative) {
  ASSERT_EQ(a.sizes(), b.sizes());
  const torch::Tensor difference = a.to(torch::kFloat64) - b.to(torch::kFloat64);
  EXPECT_LE(largest(difference), relative * std::max(1.0, largest(b)));
}

template <class Value>
std::vector<Value> values_of(const torch::Tensor& state) {
  std::vector<Value> values;
  for (int64_t i = 0; i < state.numel(); ++i) values.push_back(state[i].item<Value>());
  return values;
}

bool has_plain_energy(const ModelSample& sample) {
  return sample.real_energy || sample.energy;
}

double plain_energy(const ModelSample& sample, const torch::Tensor& state) {
  if (sample.real_energy) return sample.real_energy(sample.tensors, values_of<double>(state));
  return sample.energy(sample.tensors, values_of<int>(state));
}

class ModelContract : public testing::TestWithParam<ModelSample> {
 protected:
  static constexpr int64_t kStates = 24;

  const ModelSample& sample() const { return GetParam(); }
  double tolerance() const { return sample().lattice ? 1e-12 : kFloat32; }

  // U by LibTorch's operators and its gradient by autograd, in double precision.
  EnergyGrad by_autograd(const torch::Tensor& states) {
    const auto exact = load_sample(sample());
    exact->to(torch::kFloat64);
    const torch::Tensor input = relaxed(states).requires_grad_(true);
    const torch::Tensor u = exact->energy(input);
    return {u.detach(), torch::autograd::grad({u.sum()}, {input})[0]};
  }

  torch::Tensor relaxed(const torch::Tensor& states) const {
    if (!space.one_hot()) return states.to(torch::kFloat64);
    return torch::one_hot(states.to(torch::kInt64), space.categories).to(torch::kFloat64);
  }

  std::shared_ptr<EnergyModel> model = load_sample(GetParam());
  StateSpace space = model->space();
  torch::Tensor x = some_states(space, kStates);
};

TEST_P(ModelContract, EvaluationHasItsShapesAndIsFiniteAndDetached) {
  Evaluation out;
  model->evaluate(x, out);
  EXPECT_EQ(out.energy.scalar_type(), torch::kFloat64);
  EXPECT_EQ(out.energy.sizes(), (std::vector<int64_t>{kStates}));
  EXPECT_EQ(out.gradient.scalar_type(), torch::kFloat32);
  std::vector<int64_t> shape = {kStates, space.sites};
  if (space.one_hot()) shape.push_back(space.categories);
  EXPECT_EQ(out.gradient.sizes(), shape);
  EXPECT_TRUE(out.gradient.is_contiguous());
  EXPECT_TRUE(out.energy.isfinite().all().item<bool>());
  EXPECT_TRUE(out.gradient.isfinite().all().item<bool>());
  EXPECT_FALSE(out.energy.requires_grad() || out.gradient.requires_grad());
  EXPECT_GT(out.energy.std().item<double>(), 0.01) << "the sample is too flat to test with";
  for (const torch::Tensor& p : model->parameters()) EXPECT_FALSE(p.grad().defined());
}

TEST_P(ModelContract, KnowsItsName) {
  EXPECT_EQ(model->kind_name(), sample().model);
}

class PlainEnergies : public ModelContract {};

TEST_P(PlainEnergies, AreTheModels) {
  Evaluation out;
  model->evaluate(x, out);
  for (int64_t b = 0; b < kStates; ++b) {
    EXPECT_NEAR(out.energy[b].item<double>(), plain_energy(sample(), x[b]),
                tolerance() * std::max(1.0, largest(out.energy)));
  }
}

TEST_P(ModelContract, EvaluationIsAutogradOfTheEnergy) {
  const EnergyGrad exact = by_autograd(x), found = model->energy_and_grad(x);
  expect_close(found.energy, exact.energy, tolerance());
  expect_close(found.gradient, exact.gradient, kFloat32);  // gradients are float32 everywhere
}

TEST_P(ModelContract, EnergyAloneIsTheSame) {
  Evaluation alone;
  model->evaluate_energy(x, alone);
  EXPECT_FALSE(alone.gradient.defined());
  expect_close(alone.energy, model->energy_and_grad(x).energy, tolerance());
  expect_close(model->energy(x).detach(), alone.energy, tolerance());
}

TEST_P(ModelContract, AStateAloneIsItsRowOfABatch) {
  const EnergyGrad batch = model->energy_and_grad(x);
  for (const int64_t b : {int64_t{0}, kStates / 2, kStates - 1}) {
    const EnergyGrad one = model->energy_and_grad(x.slice(0, b, b + 1));
    const torch::Tensor energy = batch.energy.slice(0, b, b + 1);
    const torch::Tensor gradient = batch.gradient.slice(0, b, b + 1);
    if (sample().lattice) {
      EXPECT_TRUE(torch::equal(one.energy, energy));
      EXPECT_TRUE(torch::equal(one.gradient, gradient));
    } else {
      expect_close(one.energy, energy, kFloat32);
      expect_close(one.gradient, gradient, kFloat32);
    }
  }
}

TEST_P(ModelContract, WritesTheEnergyIntoTheBufferGiven) {
  Evaluation out;
  model->evaluate(x, out);
  const void* energy = out.energy.data_ptr();
  const void* gradient = out.gradient.data_ptr();
  const torch::Tensor y = 1 - x.clamp_max(1), expected = model->energy_and_grad(y).energy;
  model->evaluate(y, out);
  EXPECT_EQ(out.energy.data_ptr(), energy);
  if (sample().lattice) {
    EXPECT_EQ(out.gradient.data_ptr(), gradient);
  }
  EXPECT_TRUE(torch::equal(out.energy, expected));
}

// Moves from x to states in which none, one, and all sites differ, step after step.
TEST_P(ModelContract, MovedStatesEvaluateAsNewOnes) {
  Evaluation at_x, at_y;
  model->evaluate(x, at_x);
  torch::Tensor from = x;
  for (int step = 0; step < 4; ++step) {
    torch::Tensor y = step == 2 ? (from + 1).remainder(space.categories) : from.clone();
    if (step == 1) y.select(1, space.sites - 1).fill_(space.categories - 1);
    if (step == 3) y.select(1, 0).zero_();
    model->evaluate_moved(from, at_x, y, /*gradient=*/true, at_y);
    Evaluation exact, alone;
    model->evaluate(y, exact);
    expect_close(at_y.energy, exact.energy, tolerance());
    expect_close(at_y.gradient, exact.gradient, kFloat32);
    ASSERT_EQ(at_y.cache.size(), exact.cache.size());
    for (size_t i = 0; i < exact.cache.size(); ++i) {
      expect_close(at_y.cache[i], exact.cache[i], kFloat32);
    }
    model->evaluate_energy(from, alone);
    model->evaluate_moved(from, alone, y, /*gradient=*/false, alone);
    EXPECT_FALSE(alone.gradient.defined());
    expect_close(alone.energy, exact.energy, tolerance());
    from = y;
    std::swap(at_x, at_y);
  }
}

class LatticeContract : public ModelContract {};

// Multilinear energies: U(x with x_i ← k) − U(x) = g_ik − g_{i,x_i}, binary (k − x_i) g_i.
TEST_P(LatticeContract, OneSiteDifferencesAreTheGradientsAndTheConditionals) {
  auto* conditionals = dynamic_cast<HasConditionals*>(model.get());
  ASSERT_NE(conditionals, nullptr);
  const EnergyGrad here = model->energy_and_grad(x);
  for (int64_t i = 0; i < space.sites; ++i) {
    torch::Tensor differences;
    conditionals->conditional_differences(x, torch::full({kStates}, i, torch::kInt64), differences);
    ASSERT_EQ(differences.sizes(), (std::vector<int64_t>{kStates, space.categories}));
    const torch::Tensor own = x.select(1, i).to(torch::kInt64);
    for (int64_t k = 0; k < space.categories; ++k) {
      torch::Tensor y = x.clone();
      y.select(1, i).fill_(k);
      const torch::Tensor exact = model->energy_and_grad(y).energy - here.energy;
      expect_close(differences.select(1, k), exact, 1e-12);
      const torch::Tensor g = here.gradient.select(1, i).to(torch::kFloat64);
      const torch::Tensor linear = space.one_hot()
                                       ? g.select(1, k) - g.gather(1, own.unsqueeze(1)).squeeze(1)
                                       : (k - own) * g;
      expect_close(linear, exact, 1e-6);  // float32 gradients
    }
  }
}

// ∇(½‖∇U‖²)·v = vᵀ H ∇U: autograd of autograd against central differences of the gradient, in
// double precision. Step 1e-4: truncation 1e-8, rounding 1e-12, relative.
TEST_P(ModelContract, IsTwiceDifferentiableInTheState) {
  model->to(torch::kFloat64);
  torch::manual_seed(8);
  const torch::Tensor state = relaxed(x).requires_grad_(true);
  const auto gradient = [this](const torch::Tensor& at, bool keep) {
    return torch::autograd::grad({model->energy(at).sum()}, {at}, {}, keep, keep)[0];
  };
  const torch::Tensor g = gradient(state, true), v = torch::randn_like(g);
  torch::Tensor found = torch::zeros({}, torch::kFloat64);
  if (g.requires_grad()) {  // a linear energy has a constant gradient
    const auto grads =
        torch::autograd::grad({0.5 * g.square().sum()}, {state}, {}, {}, false, true);
    if (grads[0].defined()) found = (grads[0] * v).sum();
  }
  const double step = 1e-4;
  const torch::Tensor base = state.detach();
  const torch::Tensor above = gradient((base + step * v).requires_grad_(true), false);
  const torch::Tensor below = gradient((base - step * v).requires_grad_(true), false);
  const torch::Tensor expected = (g.detach() * (above - below)).sum() / (2 * step);
  EXPECT_NEAR(found.item<double>(), expected.item<double>(),
              1e-6 * std::max(1.0, g.square().sum().item<double>()));
}

class TrainableModels : public ModelContract {};

// PCD's p_control: the gradient of ½‖∇_x U‖² in the parameters, by the same method.
TEST_P(TrainableModels, TheGradientPenaltyIsDifferentiable) {
  model->to(torch::kFloat64);
  torch::manual_seed(9);
  const torch::Tensor state = relaxed(x);
  const auto penalty = [&](bool keep) {
    const torch::Tensor input = state.clone().requires_grad_(true);
    const torch::Tensor u = model->energy(input).sum();
    return 0.5 * torch::autograd::grad({u}, {input}, {}, keep, keep)[0].square().sum();
  };
  std::vector<torch::Tensor> parameters = model->parameters(), direction;
  const auto grads = torch::autograd::grad({penalty(true)}, parameters, {}, {}, false, true);
  double found = 0, scale = 1;
  for (size_t i = 0; i < parameters.size(); ++i) {
    direction.push_back(torch::randn_like(parameters[i]));
    if (!grads[i].defined()) continue;  // a bias that shifts U alone
    found += (grads[i] * direction[i]).sum().item<double>();
    scale += grads[i].abs().sum().item<double>();
  }
  const auto moved = [&](double step) {
    torch::NoGradGuard no_grad;
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].add_(direction[i], step);
  };
  const double step = 1e-5;
  moved(step);
  const double above = penalty(false).item<double>();
  moved(-2 * step);
  const double below = penalty(false).item<double>();
  EXPECT_NEAR(found, (above - below) / (2 * step), 1e-6 * scale);
}

TEST_P(LatticeContract, AnEmptyBatchIsNoError) {
  const EnergyGrad none = model->energy_and_grad(x.slice(0, 0, 0));
  EXPECT_EQ(none.energy.numel() + none.gradient.numel(), 0);
}

std::string label_of(const testing::TestParamInfo<ModelSample>& info) {
  return info.param.label;
}

// Returns the samples with a gradient. WithoutGradient tests the others.
std::vector<ModelSample> samples_with_gradient() {
  std::vector<ModelSample> samples = model_samples();
  std::erase_if(samples, [](const ModelSample& s) { return !find_model(s.model).gradient; });
  return samples;
}

// Selects the samples to which a contract applies.
auto those_that(const std::function<bool(const ModelSample&)>& fit) {
  std::vector<ModelSample> samples = samples_with_gradient();
  std::erase_if(samples, std::not_fn(fit));
  return testing::ValuesIn(samples);
}

INSTANTIATE_TEST_SUITE_P(All, ModelContract, testing::ValuesIn(samples_with_gradient()), label_of);
INSTANTIATE_TEST_SUITE_P(Known, PlainEnergies, those_that(has_plain_energy), label_of);
INSTANTIATE_TEST_SUITE_P(All, LatticeContract,
                         those_that([](const ModelSample& s) { return s.lattice; }), label_of);
INSTANTIATE_TEST_SUITE_P(All, TrainableModels,
                         testing::ValuesIn(samples_that([](const ModelSample& s, auto& model) {
                           return find_model(s.model).gradient && !model.parameters().empty();
                         })),
                         label_of);

TEST(ModelSamples, CoverTheRegistry) {
  std::set<std::string> sampled;
  for (const ModelSample& sample : model_samples()) sampled.insert(sample.model);
  for (const ModelEntry& entry : model_registry()) {
    EXPECT_TRUE(sampled.count(entry.name)) << entry.name << " has no sample in samples.cpp";
  }
}

// Every other model is compared with plain loops, in PlainEnergies or in WithoutGradient.
TEST(ModelSamples, OnlyResNetsHaveGoldenValuesInstead) {
  for (const ModelSample& sample : model_samples()) {
    EXPECT_EQ(has_plain_energy(sample), sample.model != "resnet") << sample.label;
  }
}

// Large enough that all threads take part.
TEST(LatticeThreads, AnyNumberGivesTheSameBits) {
  for (const ModelSample& sample : model_samples()) {
    if (!sample.lattice) continue;
    const auto model = load_sample(sample);
    const torch::Tensor x = some_states(model->space(), 1 << 13);
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const EnergyGrad one = model->energy_and_grad(x);
    omp_set_num_threads(3);
    const EnergyGrad three = model->energy_and_grad(x);
    omp_set_num_threads(threads);
    EXPECT_TRUE(torch::equal(one.energy, three.energy)) << sample.label;
    EXPECT_TRUE(torch::equal(one.gradient, three.gradient)) << sample.label;
  }
}

// The twins sum in different orders: float64 rounding over a few dozen terms.
TEST(ModelsGpu, AgreeWithTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const ModelSample& sample : samples_with_gradient()) {
    SCOPED_TRACE(sample.label);
    const auto model = load_sample(sample);
    const torch::Tensor x = some_states(model->space(), 40),
                        site = torch::zeros({40}, torch::kLong);
    const EnergyGrad cpu = model->energy_and_grad(x);
    torch::Tensor here, there;
    auto* conditionals = dynamic_cast<HasConditionals*>(model.get());
    if (conditionals) conditionals->conditional_differences(x, site, here);
    model->to(torch::kCUDA);
    const EnergyGrad gpu = model->energy_and_grad(x.to(torch::kCUDA));
    expect_close(gpu.energy.cpu(), cpu.energy, sample.lattice ? 1e-12 : kFloat32);
    expect_close(gpu.gradient.cpu(), cpu.gradient, kFloat32);
    if (!conditionals) continue;
    conditionals->conditional_differences(x.to(torch::kCUDA), site.to(torch::kCUDA), there);
    expect_close(there.cpu(), here, 1e-12);
  }
}

}  // namespace
}  // namespace isinglass::contract_test
