// The jump samplers' real step against enumeration: transition rows written from the formulas give
// matrices that leave π invariant, the step makes transitions with those probabilities from every
// state, and broken variants fail both checks. Unadjusted dlp is shown to be inexact, as
// documented.
#include "tests/reference/jump.h"

#include <gtest/gtest.h>

#include "engine/registry.h"
#include "io/error.h"
#include "tests/engine/transitions.h"

namespace isinglass::jump_test {
namespace {

using reference::Fault;
using reference::G;
using reference::Jump;
using reference::JumpCase;

const char* const kNames[] = {"lbj", "lbjf", "lbjb", "dlp"};  // in the order of Jump

constexpr G kBalancings[] = {G::kSqrt, G::kBarker, G::kMin, G::kMax};

struct Case {
  JumpCase jump;
  int sites, categories;
  double strength;

  const char* sampler() const { return kNames[static_cast<int>(jump.rule)]; }
  TinyTarget tiny() const { return {sites, categories, strength}; }
};

SamplerOptions options_of(const JumpCase& jump) {
  SamplerOptions options;
  (jump.rule == Jump::kLangevin ? options.step_size : options.tau) = jump.scale;
  options.balancing = static_cast<Balancing>(jump.g);
  options.unadjusted = !jump.adjusted;
  return options;
}

class JumpExactness : public testing::TestWithParam<Case> {};

TEST_P(JumpExactness, RealStepMatchesEnumeration) {
  const Case& c = GetParam();
  const Target target = c.tiny().enumerate();
  const std::vector<double> pi = target.probabilities();
  const Matrix exact = reference::jump_transitions(target, c.jump);
  EXPECT_LT(reference::balance_error(exact, pi), 1e-10);
  EXPECT_LT(reference::stationarity_error(exact, pi), 1e-10);
  EXPECT_EQ(reference::communicating_classes(exact), 1);

  const Frequencies real = real_step(c.tiny(), c.sampler(), options_of(c.jump));
  EXPECT_LT(worst_deviation(real.share, exact), 7);
  EXPECT_GT(real.accepted, 0);
  EXPECT_LT(real.acceptance, 1);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Jump rule :
       {Jump::kInterpolation, Jump::kForwardEuler, Jump::kBackwardEuler, Jump::kLangevin}) {
    const bool langevin = rule == Jump::kLangevin;
    for (const double strength : {0.5, 3.0}) {
      for (const double scale : {0.1, 1.0, 10.0}) {
        for (const G g : kBalancings) {
          if (g != G::kSqrt && (langevin || scale != 1.0)) continue;
          all.push_back({{rule, g, scale}, 3, 2, strength});
          all.push_back({{rule, g, scale}, 2, 3, strength});
        }
      }
      all.push_back({{rule, G::kSqrt, 1.0}, 3, 3, strength});
      all.push_back({{rule, langevin ? G::kSqrt : G::kMax, 0.5}, 2, 5, strength});
    }
  }
  return all;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return fmt::format("{}_D{}_K{}_strength{}_scale{}_g{}", c.sampler(), c.sites, c.categories,
                     static_cast<int>(10 * c.strength), static_cast<int>(10 * c.jump.scale),
                     static_cast<int>(c.jump.g));
}

INSTANTIATE_TEST_SUITE_P(All, JumpExactness, testing::ValuesIn(cases()), case_name);

// Tests every balancing function at every time, without the real step.
TEST(JumpReference, LeavesPiInvariant) {
  for (int rule = 0; rule < 4; ++rule) {
    for (const TinyTarget& tiny : {TinyTarget{3, 2, 3.0}, TinyTarget{2, 5, 3.0}}) {
      const Target target = tiny.enumerate();
      for (const G g : kBalancings) {
        for (const double scale : {0.1, 1.0, 10.0}) {
          const Matrix t = reference::jump_transitions(target, {static_cast<Jump>(rule), g, scale});
          SCOPED_TRACE(fmt::format("{} g {} scale {}", kNames[rule], static_cast<int>(g), scale));
          EXPECT_LT(reference::balance_error(t, target.probabilities()), 1e-10);
          EXPECT_LT(reference::stationarity_error(t, target.probabilities()), 1e-10);
        }
      }
    }
  }
}

// The checks above have the power to see each of these mistakes.
TEST(JumpBrokenVariants, AreDetected) {
  const TinyTarget tiny{2, 3, 2.0};
  const Target target = tiny.enumerate();
  for (int rule = 0; rule < 4; ++rule) {
    const JumpCase right{static_cast<Jump>(rule), G::kSqrt, 1.0};
    const Frequencies real = real_step(tiny, kNames[rule], options_of(right));
    for (const Fault fault : {Fault::kSign, Fault::kNoReverse, Fault::kReverseAtX}) {
      JumpCase wrong = right;
      wrong.fault = fault;
      const Matrix broken = reference::jump_transitions(target, wrong);
      SCOPED_TRACE(fmt::format("{} fault {}", kNames[rule], static_cast<int>(fault)));
      EXPECT_GT(reference::stationarity_error(broken, target.probabilities()), 1e-3);
      EXPECT_GT(worst_deviation(real.share, broken), 7);
    }
  }
}

TEST(UnadjustedDlp, IsItsProposalAndNotExact) {
  for (const int categories : {2, 3}) {
    const TinyTarget tiny{2, categories, 2.0};
    const Target target = tiny.enumerate();
    JumpCase jump{Jump::kLangevin, G::kSqrt, 1.0};
    const Matrix adjusted = reference::jump_transitions(target, jump);
    jump.adjusted = false;
    const Matrix proposal = reference::jump_transitions(target, jump);
    SCOPED_TRACE(categories);
    EXPECT_GT(reference::stationarity_error(proposal, target.probabilities()), 1e-3);
    const Frequencies real = real_step(tiny, "dlp", options_of(jump));
    EXPECT_LT(worst_deviation(real.share, proposal), 7);
    EXPECT_GT(worst_deviation(real.share, adjusted), 7);
    EXPECT_EQ(real.acceptance, 1);
    TinyModel model(tiny);
    EXPECT_FALSE(make_sampler("dlp", options_of(jump), model)->exact());
    EXPECT_TRUE(make_sampler("dlp", {}, model)->exact());
  }
}

// The step makes one model call and its caches are correct, also without the test. Energies that
// are not finite are still rejected.
TEST(UnadjustedDlp, KeepsTheStateConsistent) {
  TinyModel model(TinyTarget{4, 3, 2.0});
  const auto sampler = make_sampler("dlp", {.unadjusted = true}, model);
  ChainState state = sampler->init(model, torch::zeros({64, 4}, torch::kUInt8), torch::arange(64));
  StepParams params = sampler->params(3, torch::kCPU);
  for (int t = 0; t < 10; ++t) {
    model.calls = 0;
    EXPECT_EQ(sampler->step(model, state, params).evaluations, 1);
    EXPECT_EQ(model.calls, 1);
    EXPECT_TRUE((state.statistics.acceptance == 1).all().item<bool>());
    const EnergyGrad again = model.energy_and_grad(state.x);
    EXPECT_LT((again.energy - state.current.energy).abs().max().item<double>(), 1e-12);
    EXPECT_TRUE(torch::equal(again.gradient, state.current.gradient));
  }
}

// Invalid options give an Error of one sentence.
void expect_refused(const std::string& sampler, const SamplerOptions& options,
                    const EnergyModel& model, const std::string& words) {
  try {
    make_sampler(sampler, options, model);
    ADD_FAILURE() << sampler << " took what it does not take";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(JumpOptions, ImpossibleOnesAreRefused) {
  TinyModel model(TinyTarget{2, 3, 1.0}), wide(TinyTarget{2, 65, 1.0});
  expect_refused("lbjb", {}, wide, "at most 64 categories");
  EXPECT_NO_THROW(make_sampler("lbj", {}, wide));
  expect_refused("dlp", {.adapt = true, .unadjusted = true}, model, "unadjusted");
  expect_refused("dlp", {.tau = 1.0}, model, "does not read tau");
  expect_refused("lbj", {.unadjusted = true}, model, "does not read unadjusted");
  expect_refused("lbj", {.tau = 0.0}, model, "above 0");
}

}  // namespace
}  // namespace isinglass::jump_test
