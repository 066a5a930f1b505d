// The rate of wrong verdicts on simulated grids whose truth is known: the best of a side is chosen
// on one half of the repeats and judged on the other, over several models.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lab/grid/metrics.h"
#include "tests/lab/grid/claims_fixture.h"

namespace isinglass::coverage_test {
namespace {

// Settings have names without numbers, so that no sweep has an end.
struct Simulated {
  int models = 1, settings_a = 1, settings_b = 1, repeats = 8;
  double spread = 1;  // spread of runs, in units of the errors that they report
  double lead = 0;    // lead of the best of a over the best of b
  double gap = 0;     // gap between the settings of a side, in spreads
};

constexpr double kMean = 20;

class Grids {
 public:
  explicit Grids(const Simulated& how, const std::string& metric = "ess_per_step")
      : how_(how), metric_(metric) {
    for (int model = 0; model < how.models; ++model) {
      for (const auto& [sampler, settings] :
           {std::pair{"a", how.settings_a}, {"b", how.settings_b}}) {
        for (int setting = 0; setting < settings; ++setting) {
          for (int repeat = 0; repeat < how.repeats; ++repeat) {
            Json one = row(std::to_string(model), sampler, 0, 0, 0, repeat);
            one["settings"] = {{"name", "n" + std::to_string(setting)}};
            one["metrics"] = {{metric, 0.0}, {metric + "_se", 1.0}, {"rhat", 1.0}};
            rows_.push_back(one);
            const double behind = how.gap * how.spread * setting;
            truth_.push_back(kMean + (sampler[0] == 'a' ? how.lead : 0) - behind);
          }
        }
      }
    }
  }

  const Json& next() {
    for (size_t i = 0; i < rows_.size(); ++i) {
      rows_[i]["metrics"][metric_] = truth_[i] + how_.spread * noise_(random_);
    }
    return rows_;
  }

 private:
  Simulated how_;
  std::string metric_;
  Json rows_ = Json::array();
  std::vector<double> truth_;
  std::mt19937_64 random_{7};
  std::normal_distribution<double> noise_;
};

constexpr double kSpreads[] = {1, 1.5, 2, 3, 5};

// With this number of trials, three binomial errors of 5 % are 1.2 %.
constexpr int kTrials = 3000;
constexpr double kMost = 0.062;

// Returns the share of intervals that do not contain the true difference. All settings are equal.
double missed(const Simulated& how, const std::string& metric = "ess_per_step") {
  Grids grids(how, metric);
  const double truth = find_metric(metric, "").higher_is_better ? how.lead : -how.lead;
  int misses = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Json interval =
        judged("beats", grids.next(), {"a"}, {"b"}, metric)["models"][0].at("interval");
    misses += interval[0].get<double>() > truth || interval[1].get<double>() < truth;
  }
  return static_cast<double>(misses) / kTrials;
}

// However much runs differ beyond their reported errors, an interval of 95 % misses in at most 6 %.
// With the chains' own errors, a single judging repeat and twice their spread, it would miss in 31
// %.
TEST(Coverage, IntervalsMissTheTruthAsOftenAsTheySay) {
  for (const double spread : kSpreads) {
    const Simulated how{.settings_a = 3, .repeats = 6, .spread = spread, .lead = 1};
    EXPECT_LE(missed(how), kMost) << spread;
  }
  EXPECT_LE(missed({.settings_a = 3, .settings_b = 3, .repeats = 5, .spread = 2, .lead = 1}),
            kMost);
  // The intervals are not arbitrarily long if only the spread is known.
  EXPECT_GE(missed({.settings_a = 2, .settings_b = 2, .lead = 1}, "burn_in_time"), 0.02);
}

// Returns the share of claims with a wrong verdict on some model.
double wrong(const Simulated& how, double margin) {
  Grids grids(how);
  const Claim claim{"", "beats", "ess_per_step", "", {"a"}, {"b"}, {}, margin};
  int count = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Json models = judge(claim, rows_of(grids.next()))["models"];
    count += std::any_of(models.begin(), models.end(), [&](const Json& model) {
      const std::string verdict = model["verdict"];
      if (verdict == "supported") return how.lead <= 0;
      return verdict == "not supported" && how.lead >= margin * kMean;
    });
  }
  return static_cast<double>(count) / kTrials;
}

// Several models at once. If none is better, a verdict of better is wrong. If all are better by the
// margin, a verdict of not better is wrong, too.
TEST(Coverage, AClaimOnSeveralModelsIsWrongAsSeldomAsOnOne) {
  for (const double spread : {1.0, 2.0, 5.0}) {
    const Simulated equal{.models = 4, .settings_a = 2, .repeats = 6, .spread = spread};
    EXPECT_LE(wrong(equal, 0), kMost) << spread;
  }
  const Simulated better{.models = 4, .settings_a = 2, .repeats = 6, .spread = 3, .lead = 2};
  EXPECT_LE(wrong(better, 0.1), kMost);
}

// The half of repeats that chooses may miss a side's best setting, so that the side looks worse
// than it is. If the sides are equal, the other one is then found better; if `who` is better by
// exactly the margin, it is found not to be.
TEST(Coverage, AWrongChoiceOfTheBestMakesFewVerdictsWrong) {
  for (const double spread : {1.0, 2.0, 5.0}) {
    EXPECT_LE(wrong({.settings_b = 4, .repeats = 8, .spread = spread, .gap = 0.6}, 0.1), kMost)
        << spread;
  }
  EXPECT_LE(wrong({.settings_a = 4, .repeats = 8, .spread = 3, .lead = 2, .gap = 0.6}, 0.1), kMost);
}

}  // namespace
}  // namespace isinglass::coverage_test
