// `isinglass report`: pages are whole, fetch nothing, and show texts of files as text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/inputs.h"
#include "tests/support/program.h"

namespace isinglass::report_test {
namespace {

using Json = nlohmann::json;

// The data that the page's script reads.
Json data_of(const std::string& page) {
  const std::string start = "<script id=\"data\" type=\"application/json\">";
  const size_t from = page.find(start) + start.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

const Json* part(const Json& data, const std::string& title) {
  for (const Json& candidate : data["parts"]) {
    if (candidate["title"] == title) return &candidate;
  }
  return nullptr;
}

void expect_whole(const std::string& page) {
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_EQ(page.find("{{"), std::string::npos) << "a slot is not filled";
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  for (const char* fetch : {"src=\"http", "href=\"http", "url(http", "@import"}) {
    EXPECT_EQ(page.find(fetch), std::string::npos) << fetch;
  }
}

class Report : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
  }
  TemporaryDirectory folder;
};

TEST_F(Report, AGridsPageHasClaimsChartsAndTables) {
  const std::string hostile = "</script><img src=x onerror=alert(1)>";
  write("grid.toml", fmt::format(R"(
title = "{0}"
[common]
chains = 6
burn-in = 20
steps = 300
[[models]]
label = "{0}"
instance = "parity:u=1,sites=9"
[[samplers]]
sampler = ["lb", "gwg"]
[[samplers]]
sampler = "pas"
radius = [1, 2]
[[claims]]
text = "{0}"
rule = "matches"
metric = "ess_per_step"
who = ["pas"]
than = ["lb"]
)",
                                 hostile));
  const Outcome ran =
      run_program("ablate --quiet --grid " + path("grid.toml") + " --out " + path("out"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string page = file_bytes(folder / "out/report.html");
  expect_whole(page);
  EXPECT_EQ(page.find("<img src=x"), std::string::npos);
  const Json data = data_of(page);
  EXPECT_EQ(data["title"], hostile);
  const Json* model = part(data, hostile);
  ASSERT_TRUE(model);
  const Json& charts = (*model)["pieces"][0]["charts"];
  ASSERT_EQ(charts.size(), 4u);  // bars, against the radius, energy, autocorrelation
  EXPECT_EQ(charts[1]["series"][0]["x"], Json({1, 2}));
  EXPECT_EQ(charts[2]["series"].size(), 2u);
  EXPECT_EQ(charts[2]["series"][0]["x"].size(), charts[2]["series"][0]["y"].size());
  EXPECT_EQ((*model)["pieces"][1]["rows"].size(), 3u);
  ASSERT_TRUE(part(data, "Failed cells"));  // gwg on parity
  ASSERT_TRUE(part(data, "Claims"));

  // The same page can be made again from the files alone.
  const Outcome again = run_program("report " + path("out") + " --out " + path("again.html"));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(file_bytes(folder / "again.html"), page);
}

TEST_F(Report, ARunOfSampleIsDrawn) {
  write_ising(folder / "ising.pt");
  ASSERT_EQ(
      run_program(fmt::format("sample --quiet --model ising --weights {0}/ising.pt --sampler gwg "
                              "--chains 3 --steps 50 --out {0}/run",
                              folder.path().string()))
          .exit_code,
      0);
  const Outcome made = run_program("report " + path("run"));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string page = file_bytes(folder / "run/report.html");
  expect_whole(page);
  const Json data = data_of(page);
  EXPECT_EQ(data["title"], "ising by gwg");
  ASSERT_TRUE(part(data, "Chains"));
  EXPECT_EQ((*part(data, "Chains"))["pieces"][0]["charts"][0]["series"].size(), 4u);
  ASSERT_TRUE(part(data, "Configuration"));
}

TEST_F(Report, TrainingAndEvaluationHaveCurvesAndPictures) {
  std::filesystem::create_directories(folder / "run/samples");
  write("run/metrics.jsonl",
        "{\"iteration\":1,\"energy_data\":1,\"energy_model\":2,\"difference\":-1,\"hops\":3}\n"
        "{\"iteration\":2,\"energy_data\":null,\"energy_model\":1,\"difference\":0,\"hops\":3}\n"
        "{\"iteration\":3,\"ener");
  write("run/samples/00000002.png", "png bytes");
  write("run/ais.json",
        "{\"log_z\": 3, \"weight_ess\": 1.44, \"chains\": 50, \"curve\": [[10, 2.5], [100, 3]], "
        "\"log_likelihood\": {\"test\": -80}}");
  const Outcome made = run_program("report " + path("run"));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Json data = data_of(file_bytes(folder / "run/report.html"));
  ASSERT_TRUE(part(data, "Curves"));
  EXPECT_EQ((*part(data, "Curves"))["pieces"][0]["charts"][0]["series"][0]["y"], Json({1}));
  ASSERT_TRUE(part(data, "Images"));
  EXPECT_EQ((*part(data, "Images"))["pieces"][0]["images"][0]["source"],
            "data:image/png;base64,cG5nIGJ5dGVz");
  ASSERT_TRUE(part(data, "Convergence"));
  EXPECT_EQ((*part(data, "Log-likelihood"))["pieces"][0]["rows"][0][1], -80);
  const std::string note = (*part(data, "Log-likelihood"))["note"];
  EXPECT_NE(note.find("overstates likelihoods"), std::string::npos) << note;
  EXPECT_EQ((*part(data, "Log-likelihood"))["pieces"][0]["rows"][0][4],
            "open: weight ESS 1.4 of 50; forward annealing alone");
}

TEST_F(Report, TrainingShowsWhereItDivergedAndWentBack) {
  const std::string sentence =
      "training diverged at iteration 30: the loss is nan; back to iteration 0 with the learning "
      "rate "
      "halved (recovery 1)";
  write("metrics.jsonl", "{\"iteration\":1,\"loss\":2.5,\"learning_rate\":0.5,\"recoveries\":1}\n");
  write("log.txt",
        "2026-01-01 00:00:00Z iteration 0: saved a\n2026-01-01 00:00:09Z " + sentence + "\n");
  ASSERT_EQ(run_program("report " + folder.path().string()).exit_code, 0);
  const Json data = data_of(file_bytes(folder / "report.html"));
  EXPECT_EQ(data["parts"][0]["pieces"][0]["facts"]["recoveries"], 1);
  ASSERT_TRUE(part(data, "Recoveries"));
  const Json& rows = (*part(data, "Recoveries"))["pieces"][0]["rows"];
  EXPECT_EQ(rows, Json::array({Json::array({"2026-01-01 00:00:09Z", sentence})}));
}

// Training without chains shows a loss, and none of the charts of chains.
TEST_F(Report, TrainingWithoutChainsShowsItsLoss) {
  ASSERT_EQ(run_program("train --objective dsm --dataset ring-points --iters 20 --batch 16 --quiet "
                        "--out " +
                        path("dsm"))
                .exit_code,
            0);
  std::filesystem::create_directory(folder / "classes");
  write("classes/config.toml", "objective = 'classify'\n");
  write("classes/metrics.jsonl", "{\"iteration\":1,\"loss\":2.5,\"gradient_norm\":1}\n");
  const std::pair<const char*, const char*> runs[] = {
      {"dsm", "Loss: denoising score matching"},
      {"classes", "Loss: cross-entropy, nats per image"}};
  for (const auto& [name, title] : runs) {
    const Outcome made = run_program("report " + path(name));
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const Json data = data_of(file_bytes(folder / name / "report.html"));
    ASSERT_TRUE(part(data, "Curves"));
    const Json& charts = (*part(data, "Curves"))["pieces"][0]["charts"];
    EXPECT_EQ(charts[0]["title"], title);
    EXPECT_EQ(charts.size(), name == std::string("dsm") ? 4u : 2u);
    for (const Json& chart : charts) {
      for (const Json& series : chart["series"]) EXPECT_FALSE(series["y"].empty()) << chart;
    }
    EXPECT_TRUE(data["parts"][0]["pieces"][0].dump().find("loss") != std::string::npos);
  }
}

TEST_F(Report, WhatIsNoRunIsRefusedByOneLine) {
  std::filesystem::create_directory(folder / "empty");
  std::filesystem::create_directory(folder / "damaged");
  write("damaged/results.json", "{\"title\": \"cut o");
  std::filesystem::create_directory(folder / "wrong");
  write("wrong/results.json", "{\"title\": 3, \"rows\": 4}");
  for (const char* name : {"empty", "damaged", "wrong", "absent"}) {
    SCOPED_TRACE(name);
    const Outcome refused = run_program("report " + path(name));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(line_count(refused.err), 1) << refused.err;
    EXPECT_NE(refused.err.find(name), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(folder / name / "report.html"));
  }
}

}  // namespace
}  // namespace isinglass::report_test
