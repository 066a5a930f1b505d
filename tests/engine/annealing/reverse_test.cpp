// Annealing both ways against exact normalisers: enumeration, a transfer matrix, sums over hidden
// states, closed forms.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/annealing/ais.h"
#include "engine/registry.h"
#include "io/error.h"
#include "models/exact_samples.h"
#include "models/lattice/bernoulli.h"
#include "models/lattice/ising.h"
#include "models/network/rbm.h"
#include "tests/engine/annealing/both_ways.h"
#include "tests/reference/enumeration.h"
#include "tests/reference/kaufman.h"
#include "tests/reference/tiny_target.h"
#include "tests/reference/transfer_matrix.h"
#include "tests/support/scratch.h"

namespace isinglass::reverse_test {
namespace {

torch::Tensor ids_from(int64_t first, int64_t count) {
  return torch::arange(first, first + count, torch::kInt64);
}

// side × side sites, open boundary, one coupling.
IsingModel open_ising(int64_t side, double coupling) {
  std::vector<int64_t> pairs;
  for (int64_t r = 0; r < side; ++r) {
    for (int64_t c = 0; c < side; ++c) {
      const int64_t site = r * side + c;
      if (c + 1 < side) pairs.insert(pairs.end(), {site, site + 1});
      if (r + 1 < side) pairs.insert(pairs.end(), {site, site + side});
    }
  }
  const torch::Tensor edges = torch::tensor(pairs, torch::kInt64).view({-1, 2});
  return IsingModel(edges, torch::full({edges.size(0)}, coupling, torch::kFloat64),
                    torch::zeros({side * side}, torch::kFloat64));
}

RbmModel random_rbm(int64_t hidden, int64_t visible, double scale, uint64_t seed) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  const torch::Tensor w = scale * torch::randn({hidden, visible}, generator);
  const torch::Tensor b_v = -1 + 0.5 * torch::randn({visible}, generator);
  return RbmModel(w, b_v, 0.3 * torch::randn({hidden}, generator));
}

// log Σ_h exp(b_h·h + Σ_i softplus(b_v + Wᵀh)_i), float64
double rbm_log_z(const RbmModel& rbm) {
  const auto parameters = rbm.named_parameters();
  const torch::Tensor w = parameters["W"].detach().to(torch::kFloat64);
  const torch::Tensor b_v = parameters["b_v"].detach().to(torch::kFloat64);
  const torch::Tensor b_h = parameters["b_h"].detach().to(torch::kFloat64);
  double total = -INFINITY;
  const int64_t hidden = w.size(0);
  for (int64_t state = 0; state < int64_t{1} << hidden; ++state) {
    torch::Tensor h = torch::zeros({hidden}, torch::kFloat64);
    for (int64_t j = 0; j < hidden; ++j) h[j] = static_cast<double>(state >> j & 1);
    const double term =
        (h.dot(b_h) + torch::softplus(torch::mv(w.t(), h) + b_v).sum()).item<double>();
    const double top = std::fmax(total, term);
    total = top + std::log(std::exp(total - top) + std::exp(term - top));
  }
  return total;
}

TEST(TransferMatrix, AgreesWithEnumerationAndWithTheTorus) {
  for (const bool periodic : {false, true}) {
    double sum = 0;
    for (int state = 0; state < 1 << 12; ++state) {
      const auto spin = [&](int r, int c) { return state >> (r * 4 + c) & 1 ? 1 : -1; };
      double bonds = 0;
      for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 4; ++c) {
          if (periodic || c < 3) bonds += spin(r, c) * spin(r, (c + 1) % 4);
          if (periodic || r < 2) bonds += spin(r, c) * spin((r + 1) % 3, c);
        }
      }
      sum += std::exp(0.7 * bonds);
    }
    EXPECT_NEAR(reference::TransferMatrix(4, 3, 0.7, periodic).log_z(), std::log(sum), 1e-10);
  }
  EXPECT_NEAR(reference::TransferMatrix(6, 7, 0.4407, true).log_z(),
              static_cast<double>(reference::ising_log_z(6, 7, 0.4407L)), 1e-9);
}

// Uses long chains of a lattice that mixes, at and around the critical temperature.
TEST(ReverseIsing, IsHeldFromBothEnds) {
  for (const auto& [side, coupling] : {std::pair(16, 0.3), {8, 0.4407}}) {
    SCOPED_TRACE(coupling);
    IsingModel model = open_ising(side, coupling);
    const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
    const AisResult result = anneal(
        model, {.scan = Scan::kChromatic}, "gibbs", start,
        {.chains = 100, .temperatures = 600, .seed = 3, .reverse = ReverseStart{.longest = 8000}});
    expect_held(result, reference::TransferMatrix(side, side, coupling, false).log_z());
    EXPECT_LT(result.reverse->rhat, kLargestRhat);
    EXPECT_GE(result.reverse->equilibrium_steps, 512);
  }
}

// Long chains that are too short are reported, and the verdict is open.
TEST(ReverseIsing, ChainsThatDoNotMixLeaveItOpen) {
  IsingModel model = open_ising(16, 0.7);
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  const AisResult result = anneal(
      model, {}, "gibbs", start,
      {.chains = 40, .temperatures = 300, .seed = 3, .reverse = ReverseStart{.longest = 1024}});
  EXPECT_EQ(result.reverse->equilibrium_steps, 1024);
  EXPECT_GT(result.reverse->rhat, kLargestRhat);
  EXPECT_NE(verdict_on(result.diagnostics()).reason.find("R-hat"), std::string::npos);
}

// Starts from exact draws, on either path.
TEST(ReverseRbm, TwelveHidden) {
  RbmModel model = random_rbm(12, 784, 0.1, 5);
  const double exact = rbm_log_z(model);
  const Factorised start = Factorised::bernoulli(torch::full({784}, 0.3));
  const torch::Tensor draws = model.exact_samples(ids_from(0, 100), 77);
  for (const PathKind path : {PathKind::kLinear, PathKind::kJoint}) {
    SCOPED_TRACE(static_cast<int>(path));
    const bool joint = path == PathKind::kJoint;
    const SamplerOptions options =
        joint ? SamplerOptions{.scan = Scan::kChromatic} : SamplerOptions{.radius = 20};
    const AisResult result = anneal(model, options, joint ? "gibbs" : "pafs", start,
                                    {.chains = 100,
                                     .temperatures = joint ? 400 : 1000,
                                     .path = path,
                                     .seed = 1,
                                     .reverse = ReverseStart{.states = draws}});
    expect_held(result, exact);
    EXPECT_EQ(result.reverse->equilibrium_steps, 0);
  }
}

TEST(ReverseBernoulli, IsExactAlmostAtOnce) {
  BernoulliModel model(torch::linspace(-2, 2, 30, torch::kFloat64));
  const double exact =
      torch::softplus(-torch::linspace(-2, 2, 30, torch::kFloat64)).sum().item<double>();
  const Factorised start = Factorised::bernoulli(torch::full({30}, 0.4));
  const AisResult result =
      anneal(model, {.scan = Scan::kChromatic}, "gibbs", start,
             {.chains = 200,
              .temperatures = 200,
              .seed = 1,
              .reverse = ReverseStart{.states = model.exact_samples(ids_from(0, 200), 9)}});
  expect_held(result, exact);
}

TEST(ReverseTiny, EveryKindOfSampler) {
  for (const int categories : {2, 3}) {
    const reference::TinyTarget tiny{4, categories, 1.5};
    double z = 0;
    for (const auto& x : reference::StateTable(4, categories).states)
      z += std::exp(-tiny.energy(x));
    for (const char* sampler : {"rwm", "gibbs", "gwg", "lb", "pas"}) {
      SCOPED_TRACE(sampler);
      reference::TinyModel model(tiny);
      const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
      const AisResult result = anneal(model, {}, sampler, start,
                                      {.chains = 100,
                                       .temperatures = 300,
                                       .schedule = Schedule::kAdaptive,
                                       .seed = 6,
                                       .reverse = ReverseStart{.longest = 4096}});
      expect_held(result, std::log(z));
    }
  }
}

// Standardised errors of the bidirectional estimate over 40 seeds.
TEST(ReverseErrors, AreAsLargeAsTheySay) {
  RbmModel model = random_rbm(6, 40, 0.6, 11);
  const double exact = rbm_log_z(model);
  const Factorised start = Factorised::bernoulli(torch::full({40}, 0.4));
  double sum = 0, squares = 0;
  constexpr int kSeeds = 40;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const torch::Tensor draws =
        model.exact_samples(ids_from(0, 60), stream_key(seed, RandomStream::kReference));
    const AisResult result = anneal(model, {.scan = Scan::kChromatic}, "gibbs", start,
                                    {.chains = 60,
                                     .temperatures = 40,
                                     .path = PathKind::kJoint,
                                     .seed = static_cast<uint64_t>(seed),
                                     .reverse = ReverseStart{.states = draws}});
    const double error =
        (result.reverse->log_z_bidirectional - exact) / result.reverse->log_z_bidirectional_se;
    sum += error;
    squares += error * error;
  }
  const double mean = sum / kSeeds, sd = std::sqrt(squares / kSeeds - mean * mean);
  EXPECT_LT(std::abs(mean), 4 / std::sqrt(kSeeds));
  EXPECT_GT(sd, 0.7);
  EXPECT_LT(sd, 1.4);
}

// The exact draws have the model's marginals: of 20 000 states, each within 5 standard errors of
// those of enumeration.
TEST(ExactSamples, HaveTheModelsMarginals) {
  RbmModel model = random_rbm(3, 8, 1.5, 4);
  const torch::Tensor states = torch::arange(256)
                                   .unsqueeze(1)
                                   .bitwise_right_shift(torch::arange(8))
                                   .bitwise_and(1)
                                   .to(torch::kUInt8);
  torch::NoGradGuard no_grad;
  const torch::Tensor p = torch::softmax(-model.energy(states).to(torch::kFloat64), 0);
  constexpr int64_t kDraws = 20000;
  const torch::Tensor x = model.exact_samples(ids_from(0, kDraws), 3).to(torch::kInt64);
  const torch::Tensor code = x.matmul(torch::pow(2, torch::arange(8)));
  const torch::Tensor own = states.to(torch::kInt64).matmul(torch::pow(2, torch::arange(8)));
  const torch::Tensor counts = torch::bincount(code, {}, 256).to(torch::kFloat64);
  for (int64_t i = 0; i < 256; ++i) {
    const double expected = kDraws * p[i].item<double>();
    const double found = counts[own[i].item<int64_t>()].item<double>();
    EXPECT_NEAR(found, expected, 5 * std::sqrt(expected) + 5) << i;
  }
  EXPECT_FALSE(random_rbm(21, 4, 0.1, 1).has_exact_samples());
  const RbmModel small = random_rbm(3, 4, 0.1, 1);
  EXPECT_EQ(exact_samples_of(small), &small);
}

// The run is stopped in every part: the pilot, the curve, forward, the long chains, in reverse.
TEST(ReverseResume, ContinuesBitForBit) {
  RbmModel rbm = random_rbm(8, 20, 0.5, 2);
  IsingModel lattice = open_ising(4, 0.4);
  struct Case {
    const char* sampler;
    SamplerOptions options;
    bool joint = false, uniform = false;
  };
  // From a uniform start, steps on a lattice are local, and one-site steps accumulate the changes
  // of energy.
  for (const auto& [name, sampler_options, joint, uniform] :
       {Case{"gwg", {}}, Case{"gibbs", {.scan = Scan::kChromatic}, /*joint=*/true},
        Case{"gibbs", {.scan = Scan::kSystematic}}, Case{"gibbs", {}, false, /*uniform=*/true},
        Case{"gibbs", {.scan = Scan::kChromatic}, false, true},
        Case{"pafs", {.radius = 2}, false, true}}) {
    SCOPED_TRACE(name);
    EnergyModel& model = joint ? static_cast<EnergyModel&>(rbm) : lattice;
    const Factorised start = uniform
                                 ? Factorised::uniform(model.space(), torch::kCPU)
                                 : Factorised::bernoulli(torch::full({model.space().sites}, 0.4));
    const auto sampler = make_sampler(name, sampler_options, model);
    const AisOptions options{.chains = 10,
                             .temperatures = 80,
                             .schedule = Schedule::kAdaptive,
                             .path = joint ? PathKind::kJoint : PathKind::kLinear,
                             .seed = 9,
                             .curve = {20},
                             .reverse = ReverseStart{.longest = 1500}};
    const auto make = [&] {
      return AnnealedImportanceSampling(model, *sampler, start, options, torch::kCPU);
    };
    AnnealedImportanceSampling whole = make();
    const AisResult expected = whole.run();
    EXPECT_EQ(whole.steps_done(), whole.steps_total());
    const int64_t last = whole.steps_total();
    for (const int64_t after : {int64_t{3}, int64_t{31}, int64_t{100}, int64_t{120}, int64_t{500},
                                int64_t{631}, int64_t{632}, last - 40, last - 1}) {
      SCOPED_TRACE(after);
      AnnealedImportanceSampling first = make();
      ASSERT_FALSE(first.run({}, [&] { return first.steps_done() == after; }).finished);
      AnnealedImportanceSampling second = make();
      second.restore(first.checkpoint());
      expect_same(second.run(), expected);
    }
    AnnealedImportanceSampling first = make();
    first.run({}, [&] { return first.steps_done() == 200; });
    AisOptions forward = options, bent = options;
    forward.reverse.reset();
    bent.curve = {30};
    for (const AisOptions& of_other : {forward, bent}) {
      AnnealedImportanceSampling other(model, *sampler, start, of_other, torch::kCPU);
      EXPECT_THROW(other.restore(first.checkpoint()), Error);
    }
  }
}

// A run is not resumed with other reverse states, but is resumed from a checkpoint of an older
// version that does not contain them.
TEST(ReverseResume, RefusesOtherStates) {
  RbmModel model = random_rbm(3, 6, 0.5, 2);
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  const auto sampler = make_sampler("gwg", {}, model);
  const auto from = [&](const torch::Tensor& states) {
    return AnnealedImportanceSampling(
        model, *sampler, start,
        {.chains = 4, .temperatures = 10, .reverse = ReverseStart{.states = states}}, torch::kCPU);
  };
  const torch::Tensor zeros = torch::zeros({4, 6}, torch::kUInt8);
  AnnealedImportanceSampling first = from(zeros), same = from(zeros), other = from(1 - zeros);
  first.run({}, [&] { return first.steps_done() == 3; });
  PtDict saved = first.checkpoint();
  EXPECT_NO_THROW(same.restore(saved));
  EXPECT_ERROR(other.restore(saved), "with other states");
  for (auto& [name, value] : saved) {
    if (name != "settings") continue;
    std::erase_if(std::get<PtDict>(value.value), [](const auto& entry) {
      return entry.first == "curve" || entry.first == "states_sha256";
    });
  }
  EXPECT_NO_THROW(same.restore(saved));
}

// The points of the curve are runs that come before the estimate.
TEST(ReverseResume, RefusesAnotherCurve) {
  RbmModel model = random_rbm(3, 6, 0.5, 2);
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  const auto sampler = make_sampler("gwg", {}, model);
  const auto with = [&](const std::vector<int64_t>& curve) {
    return AnnealedImportanceSampling(
        model, *sampler, start, {.chains = 4, .temperatures = 10, .curve = curve}, torch::kCPU);
  };
  AnnealedImportanceSampling first = with({3, 5}), same = with({3, 5}), other = with({2, 5}),
                             none = with({});
  first.run({}, [&] { return first.steps_done() == 4; });
  EXPECT_NO_THROW(same.restore(first.checkpoint()));
  EXPECT_ERROR(other.restore(first.checkpoint()), "curve");
  EXPECT_ERROR(none.restore(first.checkpoint()), "curve");
}

// Draws are uniform numbers below the float32 mean. The energy has to be that of the same mean, or
// log Z would be off by D times the rounding of a mean.
TEST(Factorised, TheEnergyIsThatOfTheRoundedMeanOfItsDraws) {
  const torch::Tensor mean = torch::tensor({0.1, 1.0 / 3, 1e-7}, torch::kFloat64);
  const Factorised start = Factorised::bernoulli(mean);
  const torch::Tensor rounded = mean.to(torch::kFloat32).to(torch::kFloat64);
  const torch::Tensor x = torch::cat({torch::zeros({1, 3}), torch::eye(3)}).to(torch::kUInt8);
  const torch::Tensor energy = start.model().energy(x).to(torch::kFloat64);
  const torch::Tensor difference = energy.narrow(0, 1, 3) - energy[0];
  const torch::Tensor expected = torch::log1p(-rounded) - torch::log(rounded);
  // One rounding of float64 in each of some operations; the unrounded means differ by 1e-8.
  EXPECT_LT((difference - expected).abs().max().item<double>(), 1e-13);
}

// Step numbers beyond the range of a counter would repeat random numbers.
TEST(AisCounters, AreEnoughOrTheRunIsRefused) {
  RbmModel model = random_rbm(3, 6, 0.5, 2);
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  const auto sampler = make_sampler("gwg", {}, model);
  const auto make = [&](AisOptions options) {
    AnnealedImportanceSampling(model, *sampler, start, options, torch::kCPU);
  };
  EXPECT_NO_THROW(make({.chains = 4, .temperatures = 4294967295}));
  EXPECT_ERROR(make({.chains = 4, .temperatures = 4294967296}),
               "random numbers are indexed by temperature");
  EXPECT_NO_THROW(make({.chains = 4, .temperatures = 9, .first_chain = 4294967291}));
  EXPECT_ERROR(make({.chains = 4, .temperatures = 9, .first_chain = 4294967292}),
               "random numbers are indexed by chain");
}

TEST(ReverseStartStates, MustBeStatesOneAChain) {
  RbmModel model = random_rbm(3, 6, 0.5, 2);
  const Factorised start = Factorised::uniform(model.space(), torch::kCPU);
  const auto sampler = make_sampler("gwg", {}, model);
  const auto make = [&](const torch::Tensor& states) {
    AnnealedImportanceSampling(
        model, *sampler, start,
        {.chains = 4, .temperatures = 10, .reverse = ReverseStart{.states = states}}, torch::kCPU);
  };
  EXPECT_NO_THROW(make(torch::zeros({4, 6}, torch::kUInt8)));
  EXPECT_ERROR(make(torch::zeros({3, 6}, torch::kUInt8)),
               "needs one state per chain; there are 3 states");
  EXPECT_ERROR(make(torch::zeros({4, 5}, torch::kUInt8)), "reverse annealing starts");
  BernoulliModel bernoulli(torch::zeros({6}, torch::kFloat64));
  EXPECT_ERROR(make_path(PathKind::kJoint, bernoulli, start, torch::kCPU), "rbm");
}

}  // namespace
}  // namespace isinglass::reverse_test
