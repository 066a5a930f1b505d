// Claims that the grid cannot answer are refused when it is read; the claims of an edited file are
// judged.
#include "lab/grid/rules/claims_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/error.h"
#include "io/files.h"
#include "lab/grid/grid.h"
#include "lab/report/write.h"
#include "tests/lab/grid/claims_fixture.h"
#include "tests/support/scratch.h"

namespace isinglass::claims_file_test {
namespace {

constexpr const char* kGrid = R"(
[common]
chains = 2
steps = 4
[[models]]
label = "small"
instance = "ising-grid:side=3"
[[samplers]]
sampler = "pafs"
radius = [1, 2, 5]
balancing = ["sqrt", "barker"]
[[samplers]]
label = "fixed"
sampler = "gwg"
)";

std::string refusal(const std::string& claim, const std::string& grid = kGrid) {
  const Scratch scratch;
  write_file(scratch / "grid.toml", grid + "[[claims]]\ntext = \"words\"\n" + claim);
  try {
    read_grid({.file = scratch / "grid.toml"});
  } catch (const Error& error) {
    const std::string text = error.what();
    return text.substr(text.find("the claim"));
  }
  return "";
}

std::string beats(const std::string& who, const std::string& than,
                  const std::string& more = "metric = \"hops\"\n") {
  return fmt::format("rule = \"beats\"\nwho = [\"{}\"]\nthan = [\"{}\"]\n{}", who, than, more);
}

// Returns the warning of a grid with one claim that `who` beats the single setting `fixed`.
std::string warning(const std::string& who, int64_t repeats) {
  const Scratch scratch;
  write_file(scratch / "grid.toml",
             std::string(kGrid) + "[[claims]]\ntext = \"words\"\n" + beats(who, "fixed"));
  return read_grid({.file = scratch / "grid.toml", .repeats = repeats}).warning;
}

TEST(ClaimsFile, AClaimThatTheRepeatsCannotDecideIsNamed) {
  // Half of the repeats choose one of six settings. All repeats judge a single setting.
  EXPECT_EQ(warning("pafs", 5), "");
  EXPECT_EQ(
      warning("pafs", 4),
      "`repeats` is 4; only 2 of them would judge, and 3 are needed, so that the claim 'words' "
      "will be undecided; 5 repeats are enough");
  EXPECT_EQ(warning("pafs radius=1 balancing=sqrt", 3), "");
  EXPECT_EQ(warning("pafs radius=1 balancing=sqrt", 2),
            "`repeats` is 2, and 3 are needed, so that the claim 'words' will be undecided; 3 "
            "repeats are enough");
}

TEST(ClaimsFile, WhatSelectsNothingIsRefusedWhenTheGridIsRead) {
  EXPECT_EQ(refusal(beats("pafs", "fixed")), "");
  EXPECT_EQ(refusal(beats("pafs radius=5 balancing=barker", "pafs radius=1")), "");
  const std::string other = refusal(beats("pafs radius=50", "fixed"));
  EXPECT_EQ(
      other.find(
          "the claim 'words': 'pafs radius=50' selects no setting; the settings of pafs are "),
      0)
      << other;
  EXPECT_NE(other.find("pafs balancing=barker radius=5"), std::string::npos) << other;
  EXPECT_NE(refusal(beats("pafs", "pafs radios=5")).find("'pafs radios=5' selects no setting"),
            std::string::npos);
  EXPECT_NE(refusal(beats("pafs radius", "fixed")).find("selects no setting"), std::string::npos);
  EXPECT_EQ(refusal(beats("pafs", "gwg")),
            "the claim 'words': 'gwg' is not a sampler of the grid; known: pafs, fixed");
  EXPECT_EQ(refusal(beats("pafs", "fixed", "metric = \"hops\"\nmodels = [\"smal\"]\n")),
            "the claim 'words': 'smal' is not a model of the grid; known: small");
}

TEST(ClaimsFile, AnAxisIsASweepOfNumbers) {
  const auto along = [](const std::string& axis, const std::string& than = "pafs") {
    return refusal(
        fmt::format("rule = \"degrades-less\"\nmetric = \"hops\"\naxis = \"{}\"\n"
                    "who = [\"pafs\"]\nthan = [\"{}\"]\n",
                    axis, than));
  };
  EXPECT_EQ(along("radius"), "");
  EXPECT_NE(along("balancing").find("axis 'balancing' of 'pafs' is "), std::string::npos);
  EXPECT_NE(
      along("radios").find("axis 'radios' is not a setting of 'pafs'; known: radius, balancing"),
      std::string::npos)
      << along("radios");
  EXPECT_NE(along("radius", "fixed").find("axis 'radius' is not a setting of 'fixed'"),
            std::string::npos);
  EXPECT_NE(along("radius", "pafs radius=5").find("has a single value for 'pafs radius=5'"),
            std::string::npos);
}

TEST(ClaimsFile, AMetricThatIsNotMeasuredIsRefused) {
  for (const char* metric :
       {"mmd", "mean_error", "reference_rhat", "least_energy", "test_nats", "coupling_rmse"}) {
    EXPECT_EQ(refusal(beats("pafs", "fixed", fmt::format("metric = \"{}\"\n", metric))),
              fmt::format("the claim 'words': the grid's cells do not measure {}", metric));
  }
  for (const char* metric : {"ess_per_second", "burn_in_time", "final_energy", "seconds"}) {
    EXPECT_EQ(refusal(beats("pafs", "fixed", fmt::format("metric = \"{}\"\n", metric))), "");
  }
  const std::string with_mean = std::string("mean = 0.5\n") + kGrid;
  EXPECT_EQ(refusal(beats("pafs", "fixed", "metric = \"mean_error\"\n"), with_mean), "");
}

// A finished grid of these rows, whose file is edited.
class EditedClaims : public testing::Test {
 protected:
  EditedClaims() {
    std::filesystem::create_directories(scratch / "run");
    const Json rows = often({row("m", "a", 1, 1.2, 0.01), row("m", "b", 1, 1, 0.01)});
    const Claim claim{"words", "matches", "ess_per_step", "", {"b"}, {"a"}, {}, 0.1};
    write_file(scratch / "run/results.json",
               Json{{"claims", {judge(claim, rows_of(rows))}}, {"rows", rows}}.dump());
    write_file(scratch / "run/config.toml",
               fmt::format("# isinglass ablate\ngrid = '{}'\n", (scratch / "grid.toml").string()));
  }
  Json judged_with(const std::string& claim) const {
    write_file(scratch / "grid.toml",
               "[[claims]]\ntext = \"words\"\nmetric = \"ess_per_step\"\n"
               "who = [\"b\"]\nthan = [\"a\"]\n" +
                   claim);
    return now();
  }
  Json now() const {
    judge_grid(scratch / "run");
    return Json::parse(read_file(scratch / "run/results.json"))["claims"];
  }
  Scratch scratch;
};

TEST_F(EditedClaims, AnEditedMarginOrRuleIsJudged) {
  EXPECT_EQ(now()[0]["verdict"], "not supported");  // the file is gone: of results.json
  EXPECT_EQ(judged_with("rule = \"matches\"\n")[0]["verdict"], "not supported");
  EXPECT_EQ(judged_with("rule = \"matches\"\nmargin = 0.5\n")[0]["verdict"], "supported");
  EXPECT_EQ(now()[0]["margin"], 0.5);
  EXPECT_EQ(judged_with("rule = \"beats\"\n")[0]["verdict"], "not supported");
  EXPECT_EQ(now()[0]["rule"], "beats");
}

TEST_F(EditedClaims, WhatTheRowsCannotAnswerIsRefused) {
  const auto refused = [&](const std::string& claim, const std::string& message) {
    const std::string before = read_file(scratch / "run/results.json");
    try {
      judged_with(claim);
      ADD_FAILURE() << claim;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
    EXPECT_EQ(read_file(scratch / "run/results.json"), before);
  };
  refused("rule = \"beats\"\nmodels = [\"n\"]\n", "'n' is not a model of the grid; known: m");
  refused("rule = \"degrades-less\"\naxis = \"radius\"\n", "has a single value for 'b'");
  refused("rule = \"beets\"\n", "unknown rule 'beets'");
}

}  // namespace
}  // namespace isinglass::claims_file_test
