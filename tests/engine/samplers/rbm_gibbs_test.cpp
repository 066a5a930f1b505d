// Gibbs sweeps of an RBM (kernels/rbm/rbm_gibbs.h): the real step against enumeration of the hidden
// units, the cached values, and the independence of a chain's random numbers from other chains.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/annealing/tempered_model.h"
#include "engine/registry.h"
#include "engine/run/initial_states.h"
#include "engine/run/run.h"
#include "io/error.h"
#include "models/network/rbm.h"
#include "tests/engine/samplers/small_rbm.h"
#include "tests/engine/transitions.h"

namespace isinglass::rbm_gibbs_test {
namespace {

const SamplerOptions kSweeps{.scan = Scan::kChromatic};

TEST(HiddenSweepExactness, RealSweepMatchesEnumeration) {
  for (const SmallRbm& rbm : {SmallRbm(3, 2, 4, false), SmallRbm(2, 3, 4, true),
                              SmallRbm(3, 2, 3, true), SmallRbm(4, 2, 1, false)}) {
    SCOPED_TRACE(fmt::format("D {} K {} H {}", rbm.sites, rbm.categories, rbm.hidden));
    const Target target = rbm.target();
    const Matrix exact = rbm.sweep(target);
    EXPECT_LT(reference::balance_error(exact, target.probabilities()), 1e-10);
    EXPECT_LT(reference::stationarity_error(exact, target.probabilities()), 1e-10);
    for (const int64_t step : {0, 7}) {
      const Frequencies real = real_step(*rbm.model, target, "gibbs", kSweeps, step);
      EXPECT_LT(worst_deviation(real.share, exact), 7);
      EXPECT_EQ(real.acceptance, 1);
      // Rows that belong to other states must not pass the test.
      Matrix other = exact;
      std::swap(other.front(), other.back());
      EXPECT_GT(worst_deviation(real.share, other), 7);
    }
  }
}

// Makes an RBM whose sizes are not multiples of a tile or of a block of 32.
std::shared_ptr<RbmModel> wide_rbm(bool categorical) {
  torch::manual_seed(32);
  if (categorical) {
    return std::make_shared<RbmModel>(0.3 * torch::randn({70, 47, 3}), torch::randn({47, 3}),
                                      torch::randn({70}));
  }
  return std::make_shared<RbmModel>(0.3 * torch::randn({101, 150}), torch::randn({150}),
                                    torch::randn({101}));
}

ChainState swept(EnergyModel& model, int64_t first, int64_t chains, int sweeps, int64_t* calls) {
  const auto sampler = make_sampler("gibbs", kSweeps, model);
  const torch::Device device = model.parameters().front().device();
  const torch::Tensor ids =
      torch::arange(first, first + chains, torch::TensorOptions(torch::kInt64).device(device));
  ChainState state = sampler->init(model, random_states(model.space(), ids, 4, device), ids);
  StepParams params = sampler->params(9, device);
  for (int t = 0; t < sweeps; ++t) *calls = sampler->step(model, state, params).evaluations;
  EXPECT_EQ(params.step(), sweeps);
  return state;
}

// A sum of n numbers in float32 has an error of at most n·2^-24·Σ|numbers|. The energy has an error
// of at most that of all hidden inputs together, because its own sums are float64.
TEST(HiddenSweep, KeepsTheInputsAndTheEnergy) {
  for (const bool categorical : {false, true}) {
    const auto model = wide_rbm(categorical);
    int64_t calls = 0;
    const ChainState state = swept(*model, 0, 60, 20, &calls);
    EXPECT_EQ(calls, 2);
    EXPECT_GT(state.statistics.hops_sum.min().item<int64_t>(), 0);
    EXPECT_EQ(state.statistics.non_finite.sum().item<int64_t>(), 0);
    const auto parameters = model->named_parameters();
    const torch::Tensor w = parameters["W"].detach().to(torch::kFloat64).flatten(1);
    const torch::Tensor b_h = parameters["b_h"].detach().to(torch::kFloat64);
    const torch::Tensor b_v = parameters["b_v"].detach().to(torch::kFloat64).flatten();
    const torch::Tensor v =
        (categorical ? torch::one_hot(state.x.to(torch::kInt64), 3).flatten(1) : state.x)
            .to(torch::kFloat64);
    const torch::Tensor a = b_h + v.matmul(w.t());
    const torch::Tensor bound =
        static_cast<double>(v.size(1) + 1) * std::exp2(-24) * (b_h.abs() + v.matmul(w.abs().t()));
    EXPECT_TRUE(((state.current.cache.at(0) - a).abs() <= bound).all().item<bool>());
    const torch::Tensor energy = -v.matmul(b_v) - torch::softplus(a).sum(1);
    EXPECT_TRUE(((state.current.energy - energy).abs() <= bound.sum(1) + 1e-9).all().item<bool>());
  }
}

TEST(HiddenSweep, AChainAloneIsItsRowOfABatch) {
  for (const bool categorical : {false, true}) {
    const auto model = wide_rbm(categorical);
    int64_t calls = 0;
    const ChainState batch = swept(*model, 0, 60, 5, &calls);
    for (const auto& [first, chains] : {std::pair<int64_t, int64_t>{0, 1}, {31, 29}, {59, 1}}) {
      const ChainState part = swept(*model, first, chains, 5, &calls);
      EXPECT_TRUE(torch::equal(part.x, batch.x.narrow(0, first, chains)));
      EXPECT_TRUE(torch::equal(part.statistics.hops_sum,
                               batch.statistics.hops_sum.narrow(0, first, chains)));
    }
  }
}

// Learning changes the weights between sweeps.
TEST(HiddenSweep, FollowsItsParameters) {
  const auto model = wide_rbm(false);
  int64_t calls = 0;
  swept(*model, 0, 8, 2, &calls);
  {
    torch::NoGradGuard no_grad;
    for (torch::Tensor& p : model->parameters()) p.zero_();
  }
  const ChainState state = swept(*model, 0, 400, 1, &calls);
  const double share = state.x.to(torch::kFloat64).mean().item<double>();
  EXPECT_NEAR(share, 0.5, 5 * 0.5 / std::sqrt(static_cast<double>(state.x.numel())));
  EXPECT_EQ(state.current.cache.at(0).abs().max().item<double>(), 0);
}

TEST(HiddenSweep, AnAnnealedRbmIsRefused) {
  const auto model = wide_rbm(false);
  const Factorised start = Factorised::uniform(model->space(), torch::kCPU);
  TemperedModel annealed(*model, &start, torch::kCPU);
  try {
    make_sampler("gibbs", kSweeps, annealed);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the annealed energy of rbm"), std::string::npos);
  }
}

// Products are the same sums on both devices. Exponentials differ in their last bits, which change
// no draw of these chains.
TEST(HiddenSweepGpu, MakesTheSweepsOfTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const bool categorical : {false, true}) {
    const auto here = wide_rbm(categorical), there = wide_rbm(categorical);
    there->to(torch::kCUDA);
    int64_t calls = 0;
    const ChainState a = swept(*here, 0, 60, 10, &calls), b = swept(*there, 0, 60, 10, &calls);
    EXPECT_TRUE(torch::equal(a.x, b.x.cpu()));
    EXPECT_TRUE(torch::equal(a.statistics.hops_sum, b.statistics.hops_sum.cpu()));
    EXPECT_TRUE(torch::equal(a.current.cache.at(0), b.current.cache.at(0).cpu()));
    // Every block of 32 units is off by a few roundings of its sum, at most 32·(log 2 + max a).
    EXPECT_TRUE(torch::allclose(a.current.energy, b.current.energy.cpu(), 1e-13, 1e-11));
  }
}

}  // namespace
}  // namespace isinglass::rbm_gibbs_test
