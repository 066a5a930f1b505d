// Verdicts on claims from rows with known numbers, and the table of rows.
#include "lab/grid/claims.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "lab/grid/rows.h"
#include "tests/lab/grid/claims_fixture.h"

namespace isinglass::claims_test {
namespace {

TEST(Claims, BeatsNeedsADifferenceAboveItsError) {
  const auto rows = [](double a, double b) {
    return often({row("m", "a", 1, a, 0.3), row("m", "b", 1, b, 0.4)});
  };
  EXPECT_EQ(verdict("beats", rows(3.1, 2)), "supported");  // 1.1 > t·0.5
  EXPECT_EQ(verdict("beats", rows(3, 2.1)), "undecided");  // 0.9 < t·0.5
  EXPECT_EQ(verdict("beats", rows(2, 3.1)), "not supported");
  EXPECT_EQ(verdict("beats", rows(3.1, 2), {"a radius=3"}), "undecided");  // no such cell
  const Json json = judged("beats", rows(3.1, 2))["models"][0];
  EXPECT_NEAR(json["difference"].get<double>(), 1.1, 1e-12);
  // Welch's degrees of freedom of two means of 30 repeats.
  const double a = 0.09, b = 0.16, freedom = (a + b) * (a + b) / (a * a / 29 + b * b / 29);
  const double t = boost::math::quantile(boost::math::students_t(freedom), 0.975);
  EXPECT_NEAR(json["interval"][0].get<double>(), 1.1 - t * 0.5, 1e-12);
  EXPECT_NEAR(json["interval"][1].get<double>(), 1.1 + t * 0.5, 1e-12);
}

// An advantage that is certainly below the margin counts as none. An energy, whose zero is
// arbitrary, has no relative margin.
TEST(Claims, BeatsByLessThanTheMarginIsNotSupported) {
  const auto rows = [](const char* metric, double a, double b) {
    Json both = {row("m", "a", 1, 0, 0), row("m", "b", 1, 0, 0)};
    both[0]["metrics"] = {{metric, a}, {std::string(metric) + "_se", 0.01}, {"rhat", 1.0}};
    both[1]["metrics"] = {{metric, b}, {std::string(metric) + "_se", 0.01}, {"rhat", 1.0}};
    return often(both);
  };
  const auto by = [&](const char* metric, double a, double b) {
    return verdict("beats", rows(metric, a, b), {"a"}, {"b"}, metric);
  };
  EXPECT_EQ(by("ess_per_step", 1.01, 1), "not supported");  // at most 4 % better
  EXPECT_EQ(by("ess_per_step", 1.04, 1), "supported");
  EXPECT_EQ(by("final_energy", -1.01, -1), "undecided");
  EXPECT_EQ(by("final_energy", -1.04, -1), "supported");  // lower is better
  EXPECT_EQ(by("final_energy", -1, -1.04), "not supported");
}

// Two slow samplers with huge errors must not match, whatever their values are.
TEST(Claims, MatchesIsNeverSatisfiedByNoise) {
  const auto rows = [](double a, double b, double se) {
    return often({row("m", "a", 1, a, se), row("m", "b", 1, b, se)});
  };
  EXPECT_EQ(verdict("matches", rows(209, 811, 486)), "undecided");
  EXPECT_EQ(verdict("matches", rows(2.1, 3, 0.35)), "undecided");
  EXPECT_EQ(verdict("matches", rows(3, 3, 0.5)), "undecided");
  EXPECT_EQ(verdict("matches", rows(3, 3, 0.05)), "supported");        // ± 0.14 within 0.3
  EXPECT_EQ(verdict("matches", rows(2.9, 3, 0.05)), "supported");      // − 0.24
  EXPECT_EQ(verdict("matches", rows(2.75, 3, 0.05)), "undecided");     // − 0.39 … − 0.11
  EXPECT_EQ(verdict("matches", rows(2.5, 3, 0.05)), "not supported");  // − 0.36 at best
  Claim strict{"", "matches", "ess_per_step", "", {"a"}, {"b"}, {}, /*margin=*/0.01};
  EXPECT_EQ(judge(strict, rows_of(rows(3, 3, 0.05)))["verdict"], "undecided");
  strict.margin = 0.5;
  EXPECT_EQ(judge(strict, rows_of(rows(2.5, 3, 0.05)))["verdict"], "supported");
}

// The best of many equal settings is the luckiest; on the other half of the repeats it is not the
// best.
TEST(Claims, TheBestIsChosenOnOneHalfAndComparedOnTheOther) {
  Json rows;
  for (int repeat = 0; repeat < 6; ++repeat) {
    for (int radius = 1; radius <= 5; ++radius) {
      const double luck = radius == 3 && repeat < 3 ? 2 : 0;
      rows.push_back(row("m", "a", radius, 5 + luck, 0.1, repeat));
    }
    rows.push_back(row("m", "b", 1, 5.3, 0.1, repeat));
  }
  const Json json = judged("beats", rows)["models"][0];
  EXPECT_EQ(json["who"]["settings"]["radius"], "3");
  EXPECT_DOUBLE_EQ(json["who"]["value"], 5);     // of the second half only
  EXPECT_DOUBLE_EQ(json["than"]["value"], 5.3);  // a single setting: of both halves
  EXPECT_EQ(json["who"]["repeats"], 3);
  EXPECT_EQ(json["than"]["repeats"], 6);
  EXPECT_EQ(json["verdict"], "not supported");  // all repeats: 6 against 5.3
}

Json first_repeats(const Json& rows, int repeats) {
  Json first = Json::array();
  for (const Json& r : rows) {
    if (r["repeat"] < repeats) first.push_back(r);
  }
  return first;
}

// At least three repeats must judge on each side; on a side that chooses, the second half must have
// as many.
TEST(Claims, AVerdictNeedsThreeRepeatsThatJudge) {
  const Json alone = often({row("m", "a", 1, 9, 0.1), row("m", "b", 1, 1, 0.1)}, 6);
  EXPECT_EQ(verdict("beats", first_repeats(alone, 3)), "supported");
  for (const int repeats : {1, 2}) {
    EXPECT_EQ(verdict("beats", first_repeats(alone, repeats)), "undecided");
    EXPECT_EQ(verdict("matches", first_repeats(alone, repeats)), "undecided");
  }
  EXPECT_EQ(reason("beats", first_repeats(alone, 2)),
            "too few repeats: 2 judged a radius=1, and 3 are needed");
  const Json chosen =
      often({row("m", "a", 1, 9, 0.1), row("m", "a", 2, 8, 0.1), row("m", "b", 1, 1, 0.1)}, 6);
  EXPECT_EQ(verdict("beats", first_repeats(chosen, 5)), "supported");
  EXPECT_EQ(reason("beats", first_repeats(chosen, 4)),
            "too few repeats: 2 judged a radius=1, and 3 are needed");
  EXPECT_EQ(verdict("beats", first_repeats(chosen, 4), {"a radius=1"}), "supported");
  EXPECT_EQ(reason("beats", first_repeats(chosen, 1)),
            "one repeat cannot both choose the best of 2 settings of a and judge it");
}

TEST(Claims, EveryModelMustSupportAndOneMayContradict) {
  Json rows = {row("m", "a", 1, 3, 0.1), row("m", "b", 1, 2, 0.1), row("n", "a", 1, 2, 0.4),
               row("n", "b", 1, 1.9, 0.4)};
  EXPECT_EQ(verdict("beats", often(rows)), "undecided");
  rows.push_back(row("o", "a", 1, 1, 0.1));
  rows.push_back(row("o", "b", 1, 2, 0.1));
  EXPECT_EQ(verdict("beats", often(rows)), "not supported");
}

// Each model that is decided narrows the intervals of the remaining ones.
TEST(Claims, SeveralModelsAreJudgedByHolmsRule) {
  const double t = boost::math::quantile(boost::math::students_t(58), 0.975);
  const auto on = [](const std::string& model, double lead) {
    return std::vector<Json>{row(model, "a", 1, 10 + lead, std::sqrt(0.5)),
                             row(model, "b", 1, 10, std::sqrt(0.5))};
  };
  const auto verdicts = [&](const std::vector<std::pair<std::string, double>>& leads) {
    Json once = Json::array();
    for (const auto& [model, lead] : leads) {
      for (const Json& one : on(model, lead)) once.push_back(one);
    }
    return judged("beats", often(once));
  };
  const double barely = t + 0.05;  // enough alone
  EXPECT_EQ(verdicts({{"m", barely}})["verdict"], "supported");
  const Json both = verdicts({{"m", barely}, {"n", 0}});
  EXPECT_EQ(both["models"][0]["verdict"], "undecided");
  EXPECT_EQ(both["models"][0]["reason"],
            "within the error of 97.5 %, by Holm's rule for several models");
  EXPECT_EQ(both["models"][1]["reason"], "within the error");
  EXPECT_EQ(both["models"][0]["level"], 0.975);
  const Json after = verdicts({{"m", barely}, {"n", 9}});
  EXPECT_EQ(after["verdict"], "supported");
  EXPECT_EQ(after["models"][0]["level"], 0.95);
  EXPECT_EQ(after["models"][1]["level"], 0.975);
}

TEST(Claims, UndefinedNumbersDecideNothing) {
  const Json good = {row("m", "a", 1, 3, 0.1), row("m", "b", 1, 2, 0.1)};
  Json rows = good;
  rows[1]["metrics"]["ess_per_step"] = nullptr;
  EXPECT_EQ(verdict("beats", often(rows)), "undecided");
  rows = good;
  rows[1]["status"] = "failed";
  EXPECT_EQ(verdict("beats", often(rows)), "undecided");
  EXPECT_EQ(verdict("beats", often(good)), "supported");
  // Neither reached the value: the same number without an error is not a tie.
  const Json never = often({row("m", "a", 1, 716, 0), row("m", "b", 1, 716, 0)});
  EXPECT_EQ(verdict("beats", never), "undecided");
  EXPECT_EQ(verdict("matches", never), "undecided");
  EXPECT_EQ(reason("beats", never), "both sides have the same number in every repeat");
  // A value beyond the range of float32 is not a measurement.
  rows[0] = row("m", "a", 1, 1.6e37, 1);
  rows[1] = row("m", "b", 1, 2, 0.1);
  EXPECT_EQ(reason("beats", often(rows)), "no defined number of a");
}

// A repeat that failed or whose bracket stayed open does not count as worse, because its setting
// might be better.
TEST(Claims, WhatIsNotKnownMightBeBetter) {
  const auto nats = [](const std::string& sampler, const std::vector<double>& of_repeats) {
    Json rows = Json::array();
    for (size_t i = 0; i < of_repeats.size(); ++i) {
      rows.push_back(row("m", sampler, 1, 0, 0, static_cast<int>(i)));
      rows.back()["metrics"] = {{"test_nats", of_repeats[i]}, {"test_nats_se", 0.1}};
    }
    return rows;
  };
  const auto judge_all = [&](std::vector<Json> all, const std::vector<std::string>& who,
                             const std::vector<std::string>& than) {
    Json rows = Json::array();
    for (const Json& some : all) rows.insert(rows.end(), some.begin(), some.end());
    return judged("beats", rows, who, than, "test_nats")["models"][0];
  };
  const Json low = nats("low", {-130, -130.1, -130, -130, -130}),
             high = nats("high", {-120, -120.1, -120, -120, -120}),
             open = nats("open", {-110, NAN, -110, -110, -110});
  EXPECT_EQ(judge_all({low, high}, {"high"}, {"low"})["verdict"], "supported");
  EXPECT_EQ(judge_all({low, high}, {"low"}, {"high"})["verdict"], "not supported");
  const std::string why =
      "open radius=1 has no defined number in every repeat, and might be better";
  EXPECT_EQ(judge_all({low, high, open}, {"high"}, {"low", "open"})["reason"], why);
  EXPECT_EQ(judge_all({low, high, open}, {"low", "open"}, {"high"})["reason"], why);
  EXPECT_EQ(judge_all({low, high, open}, {"high", "open"}, {"low"})["verdict"], "supported");
  // Chains that never reached the value are worse; a repeat that failed is not known to be worse.
  Json rows =
      often({row("m", "a", 1, 2, 0.1), row("m", "b", 1, 3, 0.1), row("m", "a", 2, 4, 0.1)}, 6);
  rows.back()["metrics"]["ess_per_step"] = nullptr;
  EXPECT_EQ(verdict("beats", rows), "not supported");
  rows.back()["status"] = "failed";
  EXPECT_EQ(reason("beats", rows),
            "a radius=2 has no defined number in every repeat, and might be better");
}

// Half of a bracket bounds a bias that is the same in every repeat, so that it does not shrink with
// their number.
TEST(Claims, ABracketIsNoStandardError) {
  const auto nats = [](double a, double b, double half) {
    Json once = {row("m", "a", 1, 0, 0), row("m", "b", 1, 0, 0)};
    once[0]["metrics"] = {{"test_nats", a}, {"test_nats_se", half}};
    once[1]["metrics"] = {{"test_nats", b}, {"test_nats_se", half}};
    Json rows = Json::array();
    for (int repeat = 0; repeat < 100; ++repeat) {
      for (Json one : once) {
        one["repeat"] = repeat;
        one["metrics"]["test_nats"] =
            one["metrics"]["test_nats"].get<double>() + (repeat % 2 ? 0.01 : -0.01);
        rows.push_back(one);
      }
    }
    return rows;
  };
  const auto by = [&](const Json& rows) {
    return judged("beats", rows, {"a"}, {"b"}, "test_nats");
  };
  EXPECT_EQ(by(nats(-99, -100, 0.4))["verdict"], "supported");
  EXPECT_EQ(by(nats(-99, -100, 0.6))["verdict"], "undecided");  // a's end below b's
  const Json interval = by(nats(-99, -100, 0.4))["models"][0]["interval"];
  const double error = 0.01 * std::sqrt(100 / 99.0) / 10 * std::sqrt(2);
  const double t = boost::math::quantile(boost::math::students_t(198), 0.975);
  EXPECT_NEAR(interval[0].get<double>(), 1 - 0.8 - t * error, 1e-9);
  EXPECT_NEAR(interval[1].get<double>(), 1 + 0.8 + t * error, 1e-9);
}

TEST(Claims, ChainsThatStillDriftAreNeverTheBest) {
  const auto rows = [](double a, double rhat_a, double b, double rhat_b) {
    return often({row("m", "a", 1, a, 0.1, 0, rhat_a), row("m", "b", 1, b, 0.1, 0, rhat_b)});
  };
  // A run that is too short favours its sampler: the sampler may lose, but not win.
  EXPECT_EQ(verdict("beats", rows(3, 1, 2, 2)), "supported");
  EXPECT_EQ(verdict("beats", rows(2, 1, 3, 2)), "undecided");
  EXPECT_EQ(verdict("matches", rows(3, 1, 2, 2)), "undecided");
  EXPECT_NE(reason("beats", rows(2, 1, 3, 2)).find("R-hat of b radius=1 is 2"), std::string::npos);
  EXPECT_EQ(verdict("beats", rows(3, 1.2, 2, 1)), "undecided");
  EXPECT_EQ(verdict("beats", rows(2, 1.2, 3, 1)), "undecided");
  EXPECT_EQ(verdict("matches", rows(3, 1.2, 3, 1)), "undecided");
  Json unknown = rows(3, 1, 2, 1);
  unknown[0]["metrics"]["rhat"] = nullptr;  // chains that never move
  EXPECT_EQ(verdict("beats", unknown), "undecided");
  // A quantity at a finite time does not need equilibrium.
  Json early = rows(0, 3, 0, 3);
  for (Json& one : early) {
    one["metrics"]["mean_error"] = one["sampler"] == "a" ? 1.0 : 2.0;
    one["metrics"]["mean_error_se"] = 0.1;
  }
  EXPECT_EQ(verdict("beats", early, {"a"}, {"b"}, "mean_error"), "supported");
}

TEST(Claims, AnUnconvergedSettingThatMightBeBetterLeavesAClaimUndecided) {
  const auto rows = [](double drifting_a, double drifting_b) {
    Json all;
    for (int repeat = 0; repeat < 6; ++repeat) {
      all.push_back(row("m", "a", 1, 3, 0.1, repeat));
      all.push_back(row("m", "b", 1, 2, 0.1, repeat));
      all.push_back(row("m", "a", 2, drifting_a, 0.1, repeat, 1.9));
      // One repeat that has not converged is enough.
      all.push_back(row("m", "b", 2, drifting_b, 0.1, repeat, repeat == 0 ? 1.9 : 1.0));
    }
    return all;
  };
  const Json clear = judged("beats", rows(9, 1))["models"][0];
  EXPECT_EQ(clear["verdict"], "supported");
  EXPECT_EQ(clear["who"]["settings"]["radius"], "1");
  EXPECT_EQ(verdict("beats", rows(9, 9)), "undecided");
  EXPECT_NE(reason("beats", rows(9, 9)).find("b radius=2 is 1.9, which might be better"),
            std::string::npos);
  EXPECT_EQ(verdict("beats", rows(1, 1), {"b"}, {"a"}), "not supported");
  EXPECT_EQ(verdict("beats", rows(1, 9), {"b"}, {"a"}), "undecided");
}

TEST(Claims, DegradesLessComparesTheLastWithTheBest) {
  Json rows;
  for (int repeat = 0; repeat < 6; ++repeat) {
    for (const auto& [sampler, radius, value] :
         {std::tuple{"a", 1, 2.0}, {"a", 10, 4.0}, {"a", 20, 3.0}, {"b", 1, 9.0}, {"b", 20, 3.0}}) {
      rows.push_back(row("m", sampler, radius, value, 0.01, repeat));
    }
  }
  EXPECT_EQ(verdict("degrades-less", rows), "supported");  // keeps 3/4, the other 1/3
  EXPECT_EQ(verdict("degrades-less", rows, {"b"}, {"a"}), "not supported");
  EXPECT_NEAR(judged("degrades-less", rows)["models"][0]["who"]["value"].get<double>(), 0.75,
              1e-12);
  for (Json& r : rows) {
    if (r["sampler"] == "a" && r["settings"]["radius"] == "20") r["metrics"]["rhat"] = 1.5;
  }
  EXPECT_EQ(verdict("degrades-less", rows), "undecided");
}

TEST(Claims, WhereNothingIsLostNobodyLosesLess) {
  Json rows;
  for (int repeat = 0; repeat < 6; ++repeat) {
    for (const int radius : {1, 20}) {
      rows.push_back(row("m", "a", radius, radius, 0.01, repeat));
      rows.push_back(row("m", "b", radius, 2 * radius, 0.01, repeat));
    }
  }
  EXPECT_EQ(verdict("degrades-less", rows), "not supported");
  // If the largest value may be the best by chance, a share of 1 proves nothing.
  Json noisy = rows;
  for (Json& r : noisy) {
    if (r["sampler"] == "b")
      r["metrics"]["ess_per_step"] = r["settings"]["radius"] == "20" ? 2.1 : 2.0;
    if (r["sampler"] == "b") r["metrics"]["ess_per_step_se"] = 0.4;
  }
  EXPECT_EQ(judged("degrades-less", noisy)["models"][0]["than"]["value"], 1.0);
  EXPECT_EQ(verdict("degrades-less", noisy), "undecided");
  EXPECT_EQ(verdict("degrades-less", noisy, {"b"}, {"a"}), "undecided");
  // With a single radius there is no degradation.
  for (size_t i = 0; i < rows.size();) {
    rows[i]["settings"]["radius"] == "1" ? void(rows.erase(i)) : void(++i);
  }
  EXPECT_EQ(verdict("degrades-less", rows), "undecided");
  EXPECT_EQ(reason("degrades-less", rows), "no defined number of a");
}

// A committed page is judged by the present rules, from the contents of results.json.
TEST(Claims, AreJudgedAgainFromTheirOwnText) {
  const Json rows = often({row("m", "a", 1, 3, 0.1), row("m", "b", 1, 2, 0.1),
                           row("n", "a", 1, 1, 0.1), row("n", "b", 1, 2, 0.1)});
  const Claim claim{"words", "beats", "ess_per_step", "", {"a"}, {"b"}, {"m"}, 0.3};
  const Json verdicts = {judge(claim, rows_of(rows))};
  EXPECT_EQ(verdicts[0]["verdict"], "supported");
  EXPECT_EQ(judge_again(verdicts, rows_of(rows)), verdicts);
  Json stale = verdicts;
  stale[0]["verdict"] = "not supported";
  EXPECT_EQ(judge_again(stale, rows_of(rows)), verdicts);
}

TEST(GridRows, RepeatsArePooledWithTheLargerError) {
  const Json rows = {row("m", "a", 1, 1, 0.3, 0), row("m", "a", 1, 3, 0.4, 1),
                     row("m", "b", 1, 2, 0.3, 0, 1.2), row("m", "b", 1, 2, 0.4, 1),
                     row("m", "c", 1, 2, 0.3, 0)};
  const std::vector<Setting> settings = pooled(rows_of(rows), "ess_per_step");
  ASSERT_EQ(settings.size(), 3u);
  EXPECT_DOUBLE_EQ(settings[0].estimate.value, 2);
  EXPECT_DOUBLE_EQ(settings[0].estimate.error, 1);  // spread √2 / √2: four times the chains' error
  EXPECT_DOUBLE_EQ(settings[0].estimate.freedom, 1);
  EXPECT_DOUBLE_EQ(settings[1].estimate.error, 0.25);  // √(0.09 + 0.16) / 2
  EXPECT_DOUBLE_EQ(settings[1].estimate.freedom, 1);
  EXPECT_DOUBLE_EQ(settings[1].rhat, 1.2);
  EXPECT_DOUBLE_EQ(settings[2].estimate.error, 0.3);
  EXPECT_DOUBLE_EQ(settings[2].estimate.freedom, 0);  // one repeat says nothing of another
  EXPECT_TRUE(std::isnan(half_width(settings[2].estimate)));
  EXPECT_EQ(pooled(rows_of(rows), "ess_per_step", Repeats::kFirstHalf)[0].estimate.value, 1);
  EXPECT_EQ(pooled(rows_of(rows), "ess_per_step", Repeats::kSecondHalf)[0].estimate.value, 3);
}

TEST(GridRows, CsvQuotesWhatNeedsIt) {
  Json rows = {row("a, \"b\"", "a", 1, 1, 0.5)};
  rows[0]["metrics"]["ess_per_step_se"] = nullptr;
  const std::string csv = rows_csv(rows_of(rows));
  EXPECT_NE(csv.find("\n\"a, \"\"b\"\"\",a,1,0,done,,1,,"), std::string::npos) << csv;
}

}  // namespace
}  // namespace isinglass::claims_test
