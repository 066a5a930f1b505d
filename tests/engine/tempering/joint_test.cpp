// Tempering along the joint path of an RBM, by enumeration: scans of block Gibbs sweeps leave the
// product of the scaled RBMs invariant, and energies of the wrong neighbour are detected.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/registry.h"
#include "engine/tempering/ladder_path.h"
#include "engine/tempering/parallel_tempering.h"
#include "io/error.h"
#include "models/network/rbm.h"
#include "tests/engine/tempering/product_law.h"
#include "tests/engine/transitions.h"

namespace isinglass::joint_test {
namespace {

constexpr int kSites = 2, kHidden = 3;
constexpr int64_t kEnsembles = 60000;
const std::vector<double> kBetas = {0, 0.3, 0.6, 1};

// An RBM whose couplings count, of binary sites or of three values.
struct TinyRbm {
  int64_t categories;
  torch::Tensor w, b_v, b_h, logits;

  explicit TinyRbm(int64_t k) : categories(k) {
    auto generator = torch::make_generator<at::CPUGeneratorImpl>(3);
    const auto normal = [&](std::vector<int64_t> shape, double deviation) {
      return torch::randn(shape, generator, torch::kFloat32) * deviation;
    };
    const std::vector<int64_t> visible =
        k == 2 ? std::vector<int64_t>{kSites} : std::vector<int64_t>{kSites, k};
    std::vector<int64_t> weights = visible;
    weights.insert(weights.begin(), kHidden);
    w = normal(weights, 2.5);
    b_v = normal(visible, 1);
    b_h = normal({kHidden}, 1);
    logits = k == 2 ? torch::tensor({-0.8, 0.5}, torch::kFloat64)
                    : torch::zeros({kSites, k}, torch::kFloat64);
  }
  RbmModel model() const { return {w, b_v, b_h}; }
  Factorised start() const {
    return categories == 2
               ? Factorised::bernoulli(logits.sigmoid().to(torch::kFloat32))
               : Factorised::uniform({StateKind::kCategorical, kSites, categories}, torch::kCPU);
  }

  int64_t states() const { return categories * categories; }
  torch::Tensor all_states() const {  // uint8 [n, D]
    const torch::Tensor number = torch::arange(states());
    return torch::stack({number.remainder(categories),
                         number.div(categories, "floor").remainder(categories)},
                        1)
        .to(torch::kUInt8);
  }
  // float64 [n]
  torch::Tensor free_energies(double beta) const {
    const auto real = [](const torch::Tensor& t) { return t.to(torch::kFloat64); };
    const torch::Tensor bias = beta * real(b_v) + (1 - beta) * logits;
    const torch::Tensor x = all_states();
    torch::Tensor energy = torch::empty({states()}, torch::kFloat64);
    for (int64_t s = 0; s < states(); ++s) {
      torch::Tensor inputs = real(b_h).clone();
      double field = 0;
      for (int64_t i = 0; i < kSites; ++i) {
        const auto value = x[s][i].item<int64_t>();
        if (categories == 2 && value == 0) continue;
        inputs += real(categories == 2 ? w.select(1, i) : w.select(1, i).select(1, value));
        field += (categories == 2 ? bias[i] : bias[i][value]).item<double>();
      }
      energy[s] = -field - torch::log1p(torch::exp(beta * inputs)).sum();
    }
    return energy;
  }
  ProductLaw product() const {
    std::vector<torch::Tensor> laws;
    for (const double beta : kBetas) laws.push_back(torch::softmax(-free_energies(beta), 0));
    return ProductLaw(laws);
  }
};

TEST(TemperedRbm, AScanLeavesTheProductInvariant) {
  for (const int64_t categories : {2, 3}) {
    const TinyRbm rbm(categories);
    RbmModel model = rbm.model();
    const Factorised start = rbm.start();
    const ProductLaw product = rbm.product();
    for (const int64_t step : {0, 1}) {
      SCOPED_TRACE(fmt::format("K {} step {}", categories, step));
      const auto path = make_ladder_path(PathKind::kJoint, model, start, torch::kCPU, 2);
      const ParallelTempering tempering(
          model, make_sampler("gibbs", {.scan = Scan::kChromatic}, path->model()), start,
          {.rungs = 4, .path = PathKind::kJoint});
      const torch::Tensor index = product.draw(kEnsembles);
      const torch::Tensor x =
          rbm.all_states().index_select(0, index.view(-1)).view({kEnsembles, 4, kSites});
      ChainState state =
          tempering.init(model, x.select(1, 0).contiguous(), torch::arange(kEnsembles));
      tempering.restore(state, {{"betas", torch::tensor(kBetas, torch::kFloat64)},
                                {"scales", torch::zeros({4, 0}, torch::kFloat64)}});
      tempering.set_rung_states(state, x);
      StepParams params = tempering.params(11, torch::kCPU, step);
      for (int64_t t = 0; t < 3; ++t) tempering.step(model, state, params);
      const torch::Tensor after = tempering.rung_states(state).to(torch::kInt64);
      EXPECT_TRUE(torch::equal(after.select(1, 3).to(torch::kUInt8), state.x));
      EXPECT_TRUE(torch::allclose(state.current.energy, model.energy(state.x).to(torch::kFloat64),
                                  1e-5, 1e-5));
      const torch::Tensor now = after.select(2, 0) + categories * after.select(2, 1);
      EXPECT_FALSE(torch::equal(now, index));
      EXPECT_LT(std::abs(product.deviation(now)), 5);
    }
  }
}

// The chains and their rejections are the same whether all pairs are measured in every scan or only
// those that swap.
TEST(TemperedRbm, PairsThatAreMeasuredWhereTheySwap) {
  const TinyRbm rbm(2);
  RbmModel model = rbm.model();
  const Factorised start = rbm.start();
  const ProductLaw product = rbm.product();
  constexpr int64_t kFew = 20000, kScans = 5;
  const torch::Tensor x =
      rbm.all_states().index_select(0, product.draw(kFew).view(-1)).view({kFew, 4, kSites});
  const auto run = [&](int64_t draws) {
    const auto path = make_ladder_path(PathKind::kJoint, model, start, torch::kCPU, 2);
    const ParallelTempering tempering(
        model, make_sampler("gibbs", {.scan = Scan::kChromatic}, path->model()), start,
        {.rungs = 4, .scans = draws, .path = PathKind::kJoint});
    ChainState state = tempering.init(model, x.select(1, 0).contiguous(), torch::arange(kFew));
    tempering.restore(state, {{"betas", torch::tensor(kBetas, torch::kFloat64)},
                              {"scales", torch::zeros({4, 0}, torch::kFloat64)}});
    tempering.set_rung_states(state, x);
    StepParams params = tempering.params(11, torch::kCPU);
    for (int64_t t = 0; t < kScans; ++t) tempering.step(model, state, params);
    return std::pair(tempering.rung_states(state), tempering.report(state, params).rejection);
  };
  const auto [states, rejection] = run(kScans);
  const auto [same, of_swaps] = run(0);
  EXPECT_TRUE(torch::equal(states, same));
  for (size_t i = 0; i < rejection.size(); ++i) {
    EXPECT_GT(rejection[i], 0.05);
    EXPECT_NEAR(of_swaps[i], rejection[i], 0.03 * rejection[i]) << i;
    EXPECT_NE(of_swaps[i], rejection[i]);
  }
}

// One round of swaps only: with the energies of the neighbouring rungs, and with the two exchanged.
TEST(TemperedRbm, EnergiesOfTheWrongNeighbourAreSeen) {
  const TinyRbm rbm(3);
  const ProductLaw product = rbm.product();
  const torch::Tensor index = product.draw(kEnsembles);
  const int64_t c = kEnsembles, r = 4, b = c * r;
  const auto real = torch::kFloat64;
  const auto energies = [&](int64_t beyond) {
    std::vector<torch::Tensor> of_rungs;
    for (int64_t i = 0; i < r; ++i) {
      const double beta = kBetas[std::clamp<int64_t>(i + beyond, 0, r - 1)];
      of_rungs.push_back(rbm.free_energies(beta).index_select(0, index.select(1, i)));
    }
    return torch::stack(of_rungs, 1).view(-1);
  };
  for (const bool exchanged : {false, true}) {
    for (const int step : {0, 1}) {
      ops::RungTensors rungs{torch::tensor(kBetas, real), torch::zeros({r, 0}, real)};
      ops::RungChainTensors at;
      at.chain = torch::arange(b).view({c, r});
      at.beta = rungs.beta.repeat({c});
      at.scale = torch::zeros({b, 0}, real);
      at.energy = energies(0);
      at.below = energies(exchanged ? 1 : -1);
      at.above = energies(exchanged ? -1 : 1);
      ops::SwapSums sums{torch::zeros({c, r - 1}, real),      torch::zeros({c, r}, real),
                         torch::zeros({b}, torch::kInt64),    torch::zeros({c}, torch::kInt64),
                         torch::zeros({1, r}, torch::kInt16), torch::zeros({0, c, r - 1, 2}, real)};
      Statistics chains = Statistics::create(b, torch::kCPU),
                 counted = Statistics::create(c, torch::kCPU);
      const torch::Tensor states = rbm.all_states().index_select(0, index.view(-1));
      torch::Tensor x = torch::zeros({c, kSites}, torch::kUInt8), energy = torch::zeros({c}, real);
      ops::TopTensors top{states, x, energy, 1};
      ops::swap_rungs(rungs, at, sums, top, chains, counted,
                      torch::tensor({5, step}, torch::kInt64), torch::arange(c));
      const torch::Tensor on_rungs = index.view(-1).index_select(0, at.chain.view(-1)).view({c, r});
      if (exchanged) {
        EXPECT_GT(product.deviation(on_rungs), 20);
        continue;
      }
      EXPECT_LT(std::abs(product.deviation(on_rungs)), 5);
      // The energy that a chain has now is that of its state on its new rung.
      for (int64_t i = 0; i < r; ++i) {
        const torch::Tensor now = at.energy.index_select(0, at.chain.select(1, i));
        const torch::Tensor expected =
            rbm.free_energies(kBetas[i]).index_select(0, on_rungs.select(1, i));
        EXPECT_TRUE(torch::equal(now, expected));
        if (i == r - 1) {
          EXPECT_TRUE(torch::equal(energy, expected));
        }
      }
    }
  }
}

TEST(TemperedRbm, TheJointPathIsOfRbmsAlone) {
  TinyModel model(TinyTarget{2, 2, 1.0});
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  EXPECT_THROW(make_ladder_path(PathKind::kJoint, model, start, torch::kCPU, 2), Error);
}

}  // namespace
}  // namespace isinglass::joint_test
