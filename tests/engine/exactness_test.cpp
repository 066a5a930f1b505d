// The samplers' real step against enumeration: the transition matrices written from the formulas
// leave π invariant, the step makes transitions with those probabilities from every state, and a
// deliberately broken variant fails both checks.
#include <gtest/gtest.h>

#include "engine/registry.h"
#include "io/error.h"
#include "tests/engine/transitions.h"

namespace isinglass::exactness_test {
namespace {

using reference::Fault;
const reference::G kReferenceG[] = {reference::G::kSqrt, reference::G::kBarker, reference::G::kMin,
                                    reference::G::kMax};

struct PathCase {
  const char* sampler;
  int sites, categories;
  double strength, radius;
  int balancing;
};

class PathExactness : public testing::TestWithParam<PathCase> {};

TEST_P(PathExactness, RealStepMatchesEnumeration) {
  const PathCase& c = GetParam();
  const TinyTarget tiny{c.sites, c.categories, c.strength};
  const Target target = tiny.enumerate();
  const std::vector<double> pi = target.probabilities();
  const reference::Rule rule{std::string(c.sampler) == "pafs", c.radius, kReferenceG[c.balancing]};
  const Matrix exact = reference::path_transitions(target, rule);
  EXPECT_LT(reference::balance_error(exact, pi), 1e-10);
  EXPECT_LT(reference::stationarity_error(exact, pi), 1e-10);
  if (c.radius >= 2) {
    EXPECT_EQ(reference::communicating_classes(exact), 1);
  }

  const Frequencies real = real_step(
      tiny, c.sampler, {.radius = c.radius, .balancing = static_cast<Balancing>(c.balancing)});
  EXPECT_LT(worst_deviation(real.share, exact), 7);
  EXPECT_GT(real.accepted, 0);
  EXPECT_LT(real.acceptance, 1);
}

std::vector<PathCase> path_cases() {
  std::vector<PathCase> cases;
  for (const char* sampler : {"gwg", "pafs"}) {
    for (const double strength : {0.5, 3.0}) {
      for (int g = 0; g < 4; ++g) {
        for (const double radius : {1.0, 2.0}) {
          cases.push_back({sampler, 3, 2, strength, radius, g});
          cases.push_back({sampler, 3, 3, strength, radius, g});
        }
        cases.push_back({sampler, 2, 2, strength, 5, g});
        cases.push_back({sampler, 2, 3, strength, 3, g});
      }
    }
    cases.push_back({sampler, 3, 2, 1.0, 1.75, 0});  // real-valued R
    cases.push_back({sampler, 3, 2, 1.0, 5, 0});
    cases.push_back({sampler, 2, 3, 1.0, 5, 1});
  }
  return cases;
}

std::string path_case_name(const testing::TestParamInfo<PathCase>& info) {
  const PathCase& c = info.param;
  return fmt::format("{}_D{}_K{}_strength{}_R{}_g{}", c.sampler, c.sites, c.categories,
                     static_cast<int>(10 * c.strength), static_cast<int>(100 * c.radius),
                     c.balancing);
}

INSTANTIATE_TEST_SUITE_P(All, PathExactness, testing::ValuesIn(path_cases()), path_case_name);

// The checks above have the power to see each of these mistakes.
TEST(BrokenVariants, AreDetected) {
  for (const bool linearised : {false, true}) {
    const char* name = linearised ? "pafs" : "gwg";
    for (const Fault fault :
         {Fault::kSign, Fault::kNoReverse, Fault::kReverseAtX, Fault::kNoMask, Fault::kNoUpdate}) {
      if (fault == Fault::kNoUpdate && !linearised) continue;
      const TinyTarget tiny{2, 3, 2.0};
      const Target target = tiny.enumerate();
      const reference::Rule rule{linearised, 2, reference::G::kSqrt, fault};
      const Matrix broken = reference::path_transitions(target, rule);
      SCOPED_TRACE(fmt::format("{} fault {}", name, static_cast<int>(fault)));
      EXPECT_GT(reference::stationarity_error(broken, target.probabilities()), 1e-3);
      EXPECT_GT(worst_deviation(real_step(tiny, name, {.radius = 2}).share, broken), 7);
    }
  }
}

TEST(RandomWalkExactness, RealStepMatchesEnumeration) {
  for (const int categories : {2, 3}) {
    for (const double strength : {0.5, 3.0}) {
      for (const int radius : {1, 2, 3}) {
        const TinyTarget tiny{3, categories, strength};
        const Target target = tiny.enumerate();
        const Matrix exact = reference::random_walk_transitions(target, radius);
        SCOPED_TRACE(fmt::format("K {} strength {} R {}", categories, strength, radius));
        EXPECT_LT(reference::balance_error(exact, target.probabilities()), 1e-10);
        const Frequencies real = real_step(tiny, "rwm", {.radius = static_cast<double>(radius)});
        EXPECT_LT(worst_deviation(real.share, exact), 7);
        EXPECT_GT(real.accepted, 0);
        EXPECT_LT(real.acceptance, 1);
      }
    }
  }
}

TEST(GibbsExactness, RealStepMatchesEnumeration) {
  for (const int categories : {2, 3}) {
    for (const double strength : {0.5, 3.0}) {
      const TinyTarget tiny{3, categories, strength};
      const Target target = tiny.enumerate();
      SCOPED_TRACE(fmt::format("K {} strength {}", categories, strength));
      const Matrix random = reference::gibbs_transitions(target, -1);
      EXPECT_LT(reference::stationarity_error(random, target.probabilities()), 1e-10);
      EXPECT_LT(worst_deviation(real_step(tiny, "gibbs", {}).share, random), 7);
      for (int64_t t = 0; t < 3; ++t) {
        const Matrix at_site = reference::gibbs_transitions(target, static_cast<int>(t));
        const auto real = real_step(tiny, "gibbs", {.scan = Scan::kSystematic}, t);
        EXPECT_LT(worst_deviation(real.share, at_site), 7);
      }
    }
  }
}

SamplerOptions small_options(const SamplerEntry& entry) {
  SamplerOptions options;
  if (entry.option("radius")) options.radius = 2;
  return options;
}

// Returns the number of states that a step evaluates on a model that supplies only energies; here
// in one call.
int64_t candidates_of(const std::string& sampler, int64_t categories) {
  if (sampler == "gibbs") return categories - 1;
  if (sampler == "block-gibbs") return categories * categories - 1;
  const int64_t others = categories - 1;  // hamming-ball: radius 2 on the four sites
  return sampler == "hamming-ball" ? 4 * others + 6 * others * others : 1;
}

// Cached energy and gradient equal recomputed ones after every step; one model call a step, or as
// many as the differences at the states of a path cost.
TEST(StateConsistency, CachedEqualsRecomputedAndOneCallAStep) {
  for (const SamplerEntry& entry : sampler_registry()) {
    for (const int categories : {2, 3}) {
      SCOPED_TRACE(fmt::format("{} K {}", entry.name, categories));
      TinyModel model(TinyTarget{4, categories, 2.0});
      if (!entry.fits(model)) continue;
      const auto sampler = make_sampler(entry.name, small_options(entry), model);
      const torch::Tensor ids = torch::arange(64);
      const torch::Tensor x = torch::randint(
          0, categories, {64, 4}, torch::make_generator<at::CPUGeneratorImpl>(7), torch::kUInt8);
      ChainState state = sampler->init(model, x, ids);
      StepParams params = sampler->params(3, torch::kCPU);
      int64_t hops = 0;
      for (int t = 0; t < 20; ++t) {
        const torch::Tensor before = state.x.clone();
        model.calls = 0;
        const StepInfo info = sampler->step(model, state, params);
        if (sampler->needs() == Needs::kDifferences) {  // two calls each: states, their neighbours
          EXPECT_EQ(info.evaluations, model.calls / 2 * (1 + model.space().neighbours()));
        } else {
          EXPECT_EQ(model.calls, 1);
          EXPECT_EQ(info.evaluations, candidates_of(entry.name, categories));
        }
        const EnergyGrad again = model.energy_and_grad(state.x);
        EXPECT_LT((again.energy - state.current.energy).abs().max().item<double>(), 1e-12);
        if (sampler->needs() == Needs::kGradient) {
          EXPECT_TRUE(torch::equal(again.gradient, state.current.gradient));
        }
        if (sampler->needs() == Needs::kDifferences) {
          Evaluation fresh;
          evaluate_differences(model, state.x, fresh);
          EXPECT_TRUE(torch::equal(fresh.differences, state.current.differences));
        }
        const torch::Tensor moved = (before != state.x).sum(1);
        EXPECT_TRUE(torch::equal(moved, state.statistics.hops));
        hops += moved.sum().item<int64_t>();
        EXPECT_EQ(params.step(), t + 1);
      }
      EXPECT_EQ(state.statistics.hops_sum.sum().item<int64_t>(), hops);
      EXPECT_GT(hops, 0);
    }
  }
}

// A model whose energy is not finite in one state. The state is never entered, and is counted when
// it is proposed. Samplers that know all differences do not propose it.
class HoleModel : public TinyModel {
 public:
  HoleModel(double hole) : TinyModel(TinyTarget{3, 2, 1.0}), hole_(hole) {}
  torch::Tensor energy(const torch::Tensor& x) override {
    const torch::Tensor inside = (relaxed(x).sum(1) >= 3);
    return TinyModel::energy(x) + torch::where(inside, hole_, 0.0);
  }

 private:
  double hole_;
};

TEST(NonFinite, ProposalsAreRejectedAndCounted) {
  for (const double hole : {NAN, INFINITY, -INFINITY}) {
    for (const SamplerEntry& entry : sampler_registry()) {
      SCOPED_TRACE(fmt::format("{} {}", entry.name, hole));
      HoleModel model(hole);
      if (!entry.fits(model)) continue;
      SamplerOptions options;
      if (entry.name == "nb") options.radius = 2;  // its default takes nine sites
      if (entry.name == "ab-variance") {           // its first scale adapts and hardly moves
        options.sigma = 2;
        options.alpha = 0.5;
      }
      const auto sampler = make_sampler(entry.name, options, model);
      ChainState state =
          sampler->init(model, torch::zeros({256, 3}, torch::kUInt8), torch::arange(256));
      StepParams params = sampler->params(5, torch::kCPU);
      for (int t = 0; t < 30; ++t) sampler->step(model, state, params);
      EXPECT_LT(state.x.sum(1).max().item<int64_t>(), 3);
      EXPECT_TRUE(torch::isfinite(state.current.energy).all().item<bool>());
      const bool proposed = state.statistics.non_finite.sum().item<int64_t>() > 0;
      EXPECT_EQ(proposed, sampler->needs() != Needs::kDifferences);
      EXPECT_THROW(sampler->init(model, torch::ones({2, 3}, torch::kUInt8), torch::arange(2)),
                   Error);
    }
  }
}

}  // namespace
}  // namespace isinglass::exactness_test
