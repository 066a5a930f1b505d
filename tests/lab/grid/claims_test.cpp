// Verdicts on claims from rows with known numbers, and the table of rows.
#include "lab/grid/claims.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lab/grid/rows.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

// A cell of 100 chains that has converged.
Json row(const std::string& model, const std::string& sampler, int radius, double value, double se,
         int repeat = 0, double rhat = 1) {
  return {{"model", model},
          {"sampler", sampler},
          {"settings", {{"radius", std::to_string(radius)}}},
          {"repeat", repeat},
          {"status", "done"},
          {"chains", 100},
          {"metrics", {{"ess_per_step", value}, {"ess_per_step_se", se}, {"rhat", rhat}}}};
}

Json judged(const std::string& rule, const Json& rows, const std::vector<std::string>& who = {"a"},
            const std::vector<std::string>& than = {"b"},
            const std::string& metric = "ess_per_step") {
  const std::string axis = rule == "degrades-less" ? "radius" : "";
  return judge({"", rule, metric, axis, who, than, {}}, rows);
}

std::string verdict(const std::string& rule, const Json& rows,
                    const std::vector<std::string>& who = {"a"},
                    const std::vector<std::string>& than = {"b"},
                    const std::string& metric = "ess_per_step") {
  return judged(rule, rows, who, than, metric)["verdict"];
}

std::string reason(const std::string& rule, const Json& rows) {
  return judged(rule, rows)["models"][0].value("reason", "");
}

TEST(Claims, BeatsNeedsADifferenceAboveItsError) {
  const auto rows = [](double a, double b) {
    return Json{row("m", "a", 1, a, 0.3), row("m", "b", 1, b, 0.4)};
  };
  EXPECT_EQ(verdict("beats", rows(3.1, 2)), "supported");  // 1.1 > t·0.5
  EXPECT_EQ(verdict("beats", rows(3, 2.1)), "undecided");  // 0.9 < 0.98
  EXPECT_EQ(verdict("beats", rows(2, 3.1)), "not supported");
  EXPECT_EQ(verdict("beats", rows(3.1, 2), {"a radius=3"}), "undecided");  // no such cell
  const Json json = judged("beats", rows(3.1, 2))["models"][0];
  EXPECT_DOUBLE_EQ(json["difference"], 1.1);
  // Welch's degrees of freedom are 183 here; the table's quantile of 30 is on the wide side.
  EXPECT_NEAR(json["interval"][0].get<double>(), 1.1 - 2.042 * 0.5, 1e-12);
  EXPECT_NEAR(json["interval"][1].get<double>(), 1.1 + 2.042 * 0.5, 1e-12);
}

// An advantage that is surely smaller than what counts is none; of an energy, whose zero is
// arbitrary, there is no share.
TEST(Claims, BeatsByLessThanTheMarginIsNotSupported) {
  const auto rows = [](const char* metric, double a, double b) {
    Json both = {row("m", "a", 1, 0, 0), row("m", "b", 1, 0, 0)};
    both[0]["metrics"] = {{metric, a}, {std::string(metric) + "_se", 0.01}, {"rhat", 1.0}};
    both[1]["metrics"] = {{metric, b}, {std::string(metric) + "_se", 0.01}, {"rhat", 1.0}};
    return both;
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

// Two slow samplers with huge errors once "matched" whatever their values were.
TEST(Claims, MatchesIsNeverSatisfiedByNoise) {
  const auto rows = [](double a, double b, double se) {
    return Json{row("m", "a", 1, a, se), row("m", "b", 1, b, se)};
  };
  EXPECT_EQ(verdict("matches", rows(209, 811, 486)), "undecided");
  EXPECT_EQ(verdict("matches", rows(2.1, 3, 0.35)), "undecided");
  EXPECT_EQ(verdict("matches", rows(3, 3, 0.5)), "undecided");
  EXPECT_EQ(verdict("matches", rows(3, 3, 0.05)), "supported");        // ± 0.14 within 0.3
  EXPECT_EQ(verdict("matches", rows(2.9, 3, 0.05)), "supported");      // − 0.24
  EXPECT_EQ(verdict("matches", rows(2.75, 3, 0.05)), "undecided");     // − 0.39 … − 0.11
  EXPECT_EQ(verdict("matches", rows(2.5, 3, 0.05)), "not supported");  // − 0.36 at best
  Claim strict{"", "matches", "ess_per_step", "", {"a"}, {"b"}, {}, /*margin=*/0.01};
  EXPECT_EQ(judge(strict, rows(3, 3, 0.05))["verdict"], "undecided");
  strict.margin = 0.5;
  EXPECT_EQ(judge(strict, rows(2.5, 3, 0.05))["verdict"], "supported");
}

// The best of many equal settings is the luckiest; on the other half of the repeats it is not.
TEST(Claims, TheBestIsChosenOnOneHalfAndComparedOnTheOther) {
  Json rows;
  for (int radius = 1; radius <= 5; ++radius) {
    const double luck = radius == 3 ? 2 : 0;
    rows.push_back(row("m", "a", radius, 5 + luck, 0.1, 0));
    rows.push_back(row("m", "a", radius, 5, 0.1, 1));
  }
  rows.push_back(row("m", "b", 1, 5.3, 0.1, 0));
  rows.push_back(row("m", "b", 1, 5.3, 0.1, 1));
  const Json json = judged("beats", rows)["models"][0];
  EXPECT_EQ(json["who"]["settings"]["radius"], "3");
  EXPECT_DOUBLE_EQ(json["who"]["value"], 5);     // of the second repeat alone
  EXPECT_DOUBLE_EQ(json["than"]["value"], 5.3);  // a single setting: of both
  EXPECT_EQ(json["verdict"], "not supported");   // all repeats: 6 against 5.3
  Json once;
  for (const Json& r : rows) {
    if (r["repeat"] == 0) once.push_back(r);
  }
  EXPECT_EQ(verdict("beats", once), "undecided");
  EXPECT_EQ(verdict("beats", once, {"a radius=3"}), "supported");  // nothing is chosen
}

// How often, of `trials` grids, the interval leaves out the true difference of the samplers, which have
// settings of equal means and so many repeats, with normal noise of deviation 1.
double missed(const std::string& metric, int settings_a, int settings_b, int repeats, int trials) {
  constexpr double kDifference = 0.5;
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise;
  int misses = 0;
  for (int trial = 0; trial < trials; ++trial) {
    Json rows;
    for (const auto& [sampler, settings] : {std::pair{"a", settings_a}, {"b", settings_b}}) {
      for (int cell = 0; cell < settings * repeats; ++cell) {
        Json one = row("m", sampler, cell / repeats, 0, 0, cell % repeats);
        const double mean = sampler[0] == 'a' ? 20 + kDifference : 20;
        one["metrics"] = {{metric, mean + noise(random)}, {metric + "_se", 1.0}, {"rhat", 1.0}};
        rows.push_back(one);
      }
    }
    const Json interval = judged("beats", rows, {"a"}, {"b"}, metric)["models"][0].at("interval");
    const double sign = find_metric(metric, "").higher_is_better ? 1 : -1;
    const double low = interval[0], high = interval[1];
    misses += low > sign * kDifference || high < sign * kDifference;
  }
  return static_cast<double>(misses) / trials;
}

// Of 1000 intervals of 95 %, 50 ± 6.9 miss. More do when a setting is chosen and judged on the same
// repeats; and 86 (five settings, eight repeats) when the mean of both ways to halve them is taken
// with an error as of independent numbers, because what both halves choose was lucky in both.
TEST(Claims, IntervalsCoverTheTruthWhateverWasChosen) {
  const double most = 0.05 + 3 * std::sqrt(0.05 * 0.95 / 1000);
  for (const int repeats : {4, 8}) {
    EXPECT_LE(missed("ess_per_step", 12, 1, repeats, 1000), most) << repeats;
    EXPECT_LE(missed("burn_in_time", 12, 1, repeats, 1000), most) << repeats;
    EXPECT_LE(missed("burn_in_time", 5, 5, repeats, 1000), most) << repeats;
  }
  EXPECT_GE(missed("burn_in_time", 5, 5, 8, 1000), 0.01);  // and are not of any length
}

TEST(Claims, EveryModelMustSupportAndOneMayContradict) {
  Json rows = {row("m", "a", 1, 3, 0.1), row("m", "b", 1, 2, 0.1), row("n", "a", 1, 2, 0.4),
               row("n", "b", 1, 1.9, 0.4)};
  EXPECT_EQ(verdict("beats", rows), "undecided");
  rows.push_back(row("o", "a", 1, 1, 0.1));
  rows.push_back(row("o", "b", 1, 2, 0.1));
  EXPECT_EQ(verdict("beats", rows), "not supported");
}

TEST(Claims, UndefinedNumbersDecideNothing) {
  Json rows = {row("m", "a", 1, 3, 0.1), row("m", "b", 1, 2, 0.1)};
  rows[1]["metrics"]["ess_per_step"] = nullptr;
  EXPECT_EQ(verdict("beats", rows), "undecided");
  rows[1] = row("m", "b", 1, 2, 0.1);
  rows[1]["metrics"]["ess_per_step_se"] = nullptr;  // an unknown error is not a small one
  EXPECT_EQ(verdict("beats", rows), "undecided");
  rows[1] = row("m", "b", 1, 2, 0.1);
  rows[1]["status"] = "failed";
  EXPECT_EQ(verdict("beats", rows), "undecided");
  // Both never came there: the same number without an error is no tie.
  Json never = {row("m", "a", 1, 716, 0), row("m", "b", 1, 716, 0)};
  EXPECT_EQ(verdict("beats", never), "undecided");
  EXPECT_EQ(verdict("matches", never), "undecided");
  EXPECT_EQ(reason("beats", never), "both sides have the same number in every repeat");
  // Beyond what float32 can do nothing is measured.
  rows[0] = row("m", "a", 1, 1.6e37, 1);
  rows[1] = row("m", "b", 1, 2, 0.1);
  EXPECT_EQ(reason("beats", rows), "no defined number of a");
}

// A repeat that failed, or whose bracket stayed open, is no worse one: its setting might be better.
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
  const Json low = nats("low", {-130, -130.1, -130}), high = nats("high", {-120, -120.1, -120}),
             open = nats("open", {-110, NAN, -110});
  EXPECT_EQ(judge_all({low, high}, {"high"}, {"low"})["verdict"], "supported");
  EXPECT_EQ(judge_all({low, high}, {"low"}, {"high"})["verdict"], "not supported");
  const std::string why =
      "open radius=1 has no defined number in every repeat, and might be better";
  EXPECT_EQ(judge_all({low, high, open}, {"high"}, {"low", "open"})["reason"], why);
  EXPECT_EQ(judge_all({low, high, open}, {"low", "open"}, {"high"})["reason"], why);
  EXPECT_EQ(judge_all({low, high, open}, {"high", "open"}, {"low"})["verdict"], "supported");
  // Chains that never came there are worse; a repeat that failed is not known to be.
  Json rows = {row("m", "a", 1, 2, 0.1, 0), row("m", "a", 1, 2, 0.1, 1),
               row("m", "b", 1, 3, 0.1, 0), row("m", "b", 1, 3, 0.1, 1),
               row("m", "a", 2, 4, 0.1, 0), row("m", "a", 2, 0, 0.1, 1)};
  rows[5]["metrics"]["ess_per_step"] = nullptr;
  EXPECT_EQ(verdict("beats", rows), "not supported");
  rows[5]["status"] = "failed";
  EXPECT_EQ(reason("beats", rows),
            "a radius=2 has no defined number in every repeat, and might be better");
}

// One repeat of a metric that reports no error says nothing of its error.
TEST(Claims, OneRepeatHasNoErrorOfItsOwn) {
  Json rows = {row("m", "a", 1, 0, 0), row("m", "b", 1, 0, 0)};
  rows[0]["metrics"] = {{"burn_in_time", 10.0}, {"rhat", 1.0}};
  rows[1]["metrics"] = {{"burn_in_time", 500.0}, {"rhat", 1.0}};
  EXPECT_EQ(verdict("beats", rows, {"a"}, {"b"}, "burn_in_time"), "undecided");
}

TEST(Claims, ChainsThatStillDriftAreNeverTheBest) {
  const auto rows = [](double a, double rhat_a, double b, double rhat_b) {
    return Json{row("m", "a", 1, a, 0.1, 0, rhat_a), row("m", "b", 1, b, 0.1, 0, rhat_b)};
  };
  // Too short a run flatters its sampler: it may lose, but not win.
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
  // What is measured at a finite time needs no equilibrium.
  Json early = rows(0, 3, 0, 3);
  for (int i = 0; i < 2; ++i) {
    early[i]["metrics"]["mean_error"] = i + 1.0;
    early[i]["metrics"]["mean_error_se"] = 0.1;
  }
  EXPECT_EQ(verdict("beats", early, {"a"}, {"b"}, "mean_error"), "supported");
}

TEST(Claims, AnUnconvergedSettingThatMightBeBetterLeavesAClaimUndecided) {
  const auto rows = [](double drifting_a, double drifting_b) {
    Json all;
    for (int repeat = 0; repeat < 2; ++repeat) {
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
  for (int repeat = 0; repeat < 2; ++repeat) {
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
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const int radius : {1, 20}) {
      rows.push_back(row("m", "a", radius, radius, 0.01, repeat));
      rows.push_back(row("m", "b", radius, 2 * radius, 0.01, repeat));
    }
  }
  EXPECT_EQ(verdict("degrades-less", rows), "not supported");
  // Where the largest may be the best by luck, a share of 1 proves nothing.
  Json noisy = rows;
  for (Json& r : noisy) {
    if (r["sampler"] == "b")
      r["metrics"]["ess_per_step"] = r["settings"]["radius"] == "20" ? 2.1 : 2.0;
    if (r["sampler"] == "b") r["metrics"]["ess_per_step_se"] = 0.4;
  }
  EXPECT_EQ(judged("degrades-less", noisy)["models"][0]["than"]["value"], 1.0);
  EXPECT_EQ(verdict("degrades-less", noisy), "undecided");
  EXPECT_EQ(verdict("degrades-less", noisy, {"b"}, {"a"}), "undecided");
  // Of a single radius nothing can be lost.
  for (size_t i = 0; i < rows.size();) {
    rows[i]["settings"]["radius"] == "1" ? void(rows.erase(i)) : void(++i);
  }
  EXPECT_EQ(verdict("degrades-less", rows), "undecided");
  EXPECT_EQ(reason("degrades-less", rows), "no defined number of a");
}

// A committed page is judged by today's rules, from what results.json holds.
TEST(Claims, AreJudgedAgainFromTheirOwnText) {
  const Json rows = {row("m", "a", 1, 3, 0.1), row("m", "b", 1, 2, 0.1), row("n", "a", 1, 1, 0.1),
                     row("n", "b", 1, 2, 0.1)};
  const Claim claim{"words", "beats", "ess_per_step", "", {"a"}, {"b"}, {"m"}, 0.3};
  const Json verdicts = {judge(claim, rows)};
  EXPECT_EQ(verdicts[0]["verdict"], "supported");
  EXPECT_EQ(judge_again(verdicts, rows), verdicts);
  Json stale = verdicts;
  stale[0]["verdict"] = "not supported";
  EXPECT_EQ(judge_again(stale, rows), verdicts);
}

TEST(GridRows, RepeatsArePooledWithTheLargerError) {
  const Json rows = {row("m", "a", 1, 1, 0.3, 0),      row("m", "a", 1, 3, 0.4, 1),
                     row("m", "b", 1, 2, 0.3, 0, 1.2), row("m", "b", 1, 2, 0.4, 1),
                     row("m", "c", 1, 2, 0.3, 0),      row("m", "c", 1, 2.7, 0.3, 1)};
  const std::vector<Setting> settings = pooled(rows, "ess_per_step");
  ASSERT_EQ(settings.size(), 3u);
  EXPECT_DOUBLE_EQ(settings[0].estimate.value, 2);
  EXPECT_DOUBLE_EQ(settings[0].estimate.error, 1);  // spread √2 / √2: four times the chains' error
  EXPECT_DOUBLE_EQ(settings[0].estimate.freedom, 1);
  EXPECT_DOUBLE_EQ(settings[1].estimate.error, 0.25);  // √(0.09 + 0.16) / 2
  EXPECT_DOUBLE_EQ(settings[1].estimate.freedom, 198);
  EXPECT_DOUBLE_EQ(settings[1].rhat, 1.2);
  EXPECT_NEAR(settings[2].estimate.error, 0.35, 1e-12);  // a spread that chance makes
  EXPECT_DOUBLE_EQ(settings[2].estimate.freedom, 198);
  Json of_brackets = {row("m", "d", 1, 2, 0.3, 0),
                      row("m", "d", 1, 2.7, 0.3, 1)};  // no chains' errors
  for (Json& one : of_brackets) one.erase("chains");
  EXPECT_DOUBLE_EQ(pooled(of_brackets, "ess_per_step")[0].estimate.freedom, 1);
  EXPECT_EQ(pooled(rows, "ess_per_step", Repeats::kFirstHalf)[0].estimate.value, 1);
  EXPECT_EQ(pooled(rows, "ess_per_step", Repeats::kSecondHalf)[0].estimate.value, 3);
}

TEST(GridRows, CsvQuotesWhatNeedsIt) {
  Json rows = {row("a, \"b\"", "a", 1, 1, 0.5)};
  rows[0]["metrics"]["ess_per_step_se"] = nullptr;
  const std::string csv = rows_csv(rows);
  EXPECT_NE(csv.find("\n\"a, \"\"b\"\"\",a,1,0,done,,1,,"), std::string::npos) << csv;
}

}  // namespace
}  // namespace isinglass
