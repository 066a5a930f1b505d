// Verdicts on claims from rows with known numbers, and the table of rows.
#include "cli/claims.h"

#include <gtest/gtest.h>

#include "cli/grid_rows.h"

namespace isinglass {
namespace {

using Json = nlohmann::ordered_json;

Json row(const std::string& model, const std::string& sampler, int radius, double value, double se,
         int repeat = 0) {
  return {{"model", model},
          {"sampler", sampler},
          {"settings", {{"radius", std::to_string(radius)}}},
          {"repeat", repeat},
          {"status", "done"},
          {"metrics", {{"ess_per_step", value}, {"ess_per_step_se", se}, {"hops", value}}}};
}

std::string verdict(const std::string& rule, const Json& rows,
                    const std::vector<std::string>& who = {"a"},
                    const std::vector<std::string>& than = {"b"},
                    const std::string& metric = "ess_per_step") {
  const std::string axis = rule == "degrades-less" ? "radius" : "";
  return judge({"", rule, metric, axis, who, than, {}}, rows)["verdict"];
}

TEST(Claims, BeatsNeedsADifferenceAboveItsError) {
  const auto rows = [](double a, double b) {
    return Json{row("m", "a", 1, a, 0.3), row("m", "a", 2, 0.5, 0.1), row("m", "b", 1, b, 0.4)};
  };
  EXPECT_EQ(verdict("beats", rows(3, 2)), "supported");    // 1 > 1.96·0.5
  EXPECT_EQ(verdict("beats", rows(3, 2.1)), "undecided");  // 0.9 < 0.98
  EXPECT_EQ(verdict("beats", rows(2, 3)), "not supported");
  EXPECT_EQ(verdict("matches", rows(2.1, 3)), "supported");
  EXPECT_EQ(verdict("matches", rows(2, 3)), "not supported");
  EXPECT_EQ(verdict("beats", rows(3, 2), {"a radius=2"}), "not supported");
  EXPECT_EQ(verdict("beats", rows(3, 2), {"a radius=3"}), "undecided");  // no such cell
  EXPECT_EQ(verdict("beats", rows(3, 2), {"a"}, {"b"}, "hops"), "supported");
}

TEST(Claims, LowerIsBetterWhereTheMetricSaysSo) {
  Json rows = {row("m", "a", 1, 0, 0), row("m", "b", 1, 0, 0)};
  rows[0]["metrics"] = {{"final_energy", -10.0}, {"final_energy_se", 0.1}};
  rows[1]["metrics"] = {{"final_energy", -9.0}, {"final_energy_se", 0.1}};
  EXPECT_EQ(verdict("beats", rows, {"a"}, {"b"}, "final_energy"), "supported");
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
}

TEST(Claims, ChainsThatStillDriftDecideNothing) {
  Json rows = {row("m", "a", 1, 3, 0.1), row("m", "b", 1, 2, 0.1)};
  rows[1]["metrics"]["rhat"] = 2.0;  // a sampler that is worse may well not have converged
  EXPECT_EQ(verdict("beats", rows), "supported");
  rows[0]["metrics"]["rhat"] = 1.2;
  EXPECT_EQ(verdict("beats", rows), "undecided");
  EXPECT_EQ(verdict("matches", rows), "undecided");
  EXPECT_EQ(verdict("beats", rows, {"a"}, {"b"}, "hops"), "supported");
}

TEST(Claims, DegradesLessComparesTheLastWithTheBest) {
  const Json rows = {row("m", "a", 1, 2, 0.01), row("m", "a", 10, 4, 0.01),
                     row("m", "a", 20, 3, 0.01), row("m", "b", 1, 9, 0.01),
                     row("m", "b", 20, 3, 0.01)};
  EXPECT_EQ(verdict("degrades-less", rows), "supported");  // keeps 3/4, the other 1/3
  EXPECT_EQ(verdict("degrades-less", rows, {"b"}, {"a"}), "not supported");
}

TEST(GridRows, RepeatsArePooledWithTheLargerError) {
  const Json rows = {row("m", "a", 1, 1, 0.3, 0), row("m", "a", 1, 3, 0.4, 1),
                     row("m", "b", 1, 2, 0.3, 0), row("m", "b", 1, 2, 0.4, 1)};
  const std::vector<Setting> settings = pooled(rows, "ess_per_step");
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_DOUBLE_EQ(settings[0].estimate.value, 2);
  EXPECT_DOUBLE_EQ(settings[0].estimate.error, 1);     // spread √2 / √2
  EXPECT_DOUBLE_EQ(settings[1].estimate.error, 0.25);  // √(0.09 + 0.16) / 2
}

TEST(GridRows, CsvQuotesWhatNeedsIt) {
  Json rows = {row("a, \"b\"", "a", 1, 1, 0.5)};
  rows[0]["metrics"]["ess_per_step_se"] = nullptr;
  const std::string csv = rows_csv(rows);
  EXPECT_NE(csv.find("\n\"a, \"\"b\"\"\",a,1,0,done,,1,,"), std::string::npos) << csv;
}

}  // namespace
}  // namespace isinglass
